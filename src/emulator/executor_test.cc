// Parts of the executor that few kernels use: indirect branches, barriers with thread counts, narrow and vector atomics, sampled
// grids, counters and the texts of faults. The programs are small enough to count by hand.
#include <algorithm>
#include <numeric>

#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

const evidence::Violation* find(const evidence::LaunchLog& log, std::string_view kind) {
  const auto v = std::ranges::find_if(log.violations, [&](const auto& x) { return x.kind == kind; });
  return v == log.violations.end() ? nullptr : &*v;
}

std::string all(const evidence::LaunchLog& log) {
  std::string text = log.ending_detail;
  for (const auto& v : log.violations) text += "\n  " + v.contract + "/" + v.kind + (v.advice ? " (advice): " : ": ") + v.message;
  return text;
}

std::vector<int> iota(std::size_t count) {
  std::vector<int> result(count);
  std::iota(result.begin(), result.end(), 0);
  return result;
}

// %r1 = thread, %rd1 = p, %rd2 = q, %rd3 = p + 4 thread, %rd4 = q + 4 thread, %r2 = n.
const std::string kStart =
    "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u32 %r2, [n]; mul.wide.u32 %rd5, %r1, 4; add.u64 %rd3, %rd1, %rd5; add.u64 %rd4, %rd2, %rd5;\n";

// n = 0x89abcdef: its bytes and halves with and without sign, for every lane, whether somebody observes or not.
TEST(Executor, PartsOfParametersAreTheSameForAllThreads) {
  struct Part { const char* load; std::int64_t value; };
  const Part parts[] = {{"ld.param.u8 %r3, [n+3];", 0x89}, {"ld.param.s8 %r3, [n+3];", -0x77}, {"ld.param.u16 %r3, [n+2];", 0x89ab}, {"ld.param.s16 %r3, [n];", -0x3211}, {"ld.param.u32 %r3, [n];", 0x89abcdef},
                        {"ld.param.v2.u16 {%h1, %h2}, [n]; cvt.u32.u16 %r3, %h2;", 0x89ab}};
  for (const Part& part : parts)
    for (bool observes : {false, true}) {
      TestDevice t;
      t.load_body(kStart + part.load + " st.global.u32 [%rd4], %r3; ret;");
      t.device.set_checks({.safety = observes, .profile = observes});
      Allocation* y = t.buffer(std::vector<std::uint32_t>(32, 0));
      ASSERT_EQ(t.launch(y->base, y->base, 0x89abcdefu, {1, 1, 1}, {32, 1, 1}).status, LaunchStatus::ok) << part.load;
      EXPECT_EQ(TestDevice::values<std::uint32_t>(y), std::vector<std::uint32_t>(32, static_cast<std::uint32_t>(part.value))) << part.load << " observers " << observes;
    }
}

TEST(Executor, IndirectBranchesGoWhereTheirIndexSays) {
  TestDevice t;
  t.load_body(kStart + "rem.u32 %r3, %r1, 3;\ntable: .branchtargets A, B, C;\nbrx.idx %r3, table;\nA: mov.u32 %r4, 10; bra D;\nB: mov.u32 %r4, 20; bra D;\nC: mov.u32 %r4, 30;\nD: st.global.u32 [%rd4], %r4; ret;");
  Allocation* y = t.buffer(std::vector<int>(32, 0));
  ASSERT_EQ(t.launch(y->base, y->base, 0, {1, 1, 1}, {32, 1, 1}).status, LaunchStatus::ok);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(TestDevice::values<int>(y)[static_cast<std::size_t>(i)], 10 * (i % 3 + 1)) << i;
  EXPECT_TRUE(t.device.take_log().violations.empty());
}

// Warps 0 and 1 produce and only arrive; warp 2 waits for their 64 threads and its own 32.
TEST(Executor, BarriersWithCountsOrderProducersAndConsumers) {
  const std::string body = kStart +
      "mov.u32 %r6, s; mul.lo.u32 %r7, %r1, 4; add.u32 %r8, %r6, %r7; setp.ge.u32 %p1, %r1, 64; @%p1 bra WAIT;\n"
      "add.u32 %r3, %r1, 5; st.shared.u32 [%r8], %r3; bar.arrive 1, 96; ret;\n"
      "WAIT: bar.sync 1, 96; ld.shared.u32 %r3, [%r8+-256]; ld.shared.u32 %r4, [%r8+-128]; add.u32 %r3, %r3, %r4; st.global.u32 [%rd4+-256], %r3; ret;";
  TestDevice t;
  t.load_body(body, ".shared .align 4 .b8 s[512];");
  Allocation* y = t.buffer(std::vector<int>(32, 0));
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    t.device.set_seed(seed);
    ASSERT_EQ(t.launch(y->base, y->base, 0, {1, 1, 1}, {96, 1, 1}).status, LaunchStatus::ok);
    for (int i = 0; i < 32; ++i) EXPECT_EQ(TestDevice::values<int>(y)[static_cast<std::size_t>(i)], 2 * i + 32 + 10);
    const auto log = t.device.take_log();
    EXPECT_TRUE(log.violations.empty()) << all(log);
  }
}

TEST(Executor, BarrierReductionsSeeTheirThreadsOnly) {
  TestDevice t;
  t.load_body(kStart + "setp.lt.u32 %p1, %r1, %r2; setp.lt.u32 %p2, %r1, 64; @!%p2 bra OUT;\n"
              "bar.red.popc.u32 %r3, 2, 64, %p1; bar.red.and.pred %p3, 2, 64, %p1; bar.red.or.pred %p4, 2, 64, !%p1;\n"
              "selp.u32 %r4, 100, 0, %p3; selp.u32 %r5, 1000, 0, %p4; add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5; st.global.u32 [%rd4], %r3;\nOUT: ret;");
  Allocation* y = t.buffer(std::vector<int>(128, 0));
  const std::pair<std::uint32_t, int> table[] = {{0, 1000}, {5, 1005}, {64, 164}, {128, 164}};
  for (const auto& [n, expected] : table) {
    ASSERT_EQ(t.launch(y->base, y->base, n, {1, 1, 1}, {128, 1, 1}).status, LaunchStatus::ok);
    EXPECT_EQ(TestDevice::values<int>(y)[63], expected) << n;
    EXPECT_EQ(TestDevice::values<int>(y)[0], expected) << n;
  }
  const auto log = t.device.take_log();
  EXPECT_TRUE(log.violations.empty()) << all(log);
}

TEST(Executor, NarrowAndVectorAtomicsAdd) {
  TestDevice t;
  t.load_body(kStart + "mov.b16 %h1, 0x3C00; mov.b32 %r3, 0x40003C00; mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000;\n"
              "atom.global.add.noftz.f16 %h2, [%rd1], %h1; red.global.add.noftz.f16x2 [%rd1+4], %r3; red.global.v2.f32.add [%rd1+8], {%f1, %f2}; ret;");
  Allocation* x = t.buffer(std::vector<std::uint32_t>(4, 0));
  ASSERT_EQ(t.launch(x->base, x->base, 0, {1, 1, 1}, {32, 1, 1}).status, LaunchStatus::ok);
  const auto values = TestDevice::values<std::uint32_t>(x);
  EXPECT_EQ(values[0], 0x5000u);        // 32
  EXPECT_EQ(values[1], 0x54005000u);    // 64, 32
  EXPECT_EQ(values[2], 0x42000000u);
  EXPECT_EQ(values[3], 0x42800000u);
}

// 64 threads, two warps: 1 load and 1 store each of 32 words; the branch divides the second warp only.
TEST(Executor, CountersAreThoseOfAHandCount) {
  TestDevice t;
  t.device.set_checks({.safety = false, .profile = true});
  t.load_body(kStart + "ld.global.f32 %f1, [%rd3]; fma.rn.f32 %f2, %f1, %f1, %f1; add.f32 %f2, %f2, %f1;\n"
              "setp.ge.u32 %p1, %r1, 40; @%p1 bra LAST; mul.f32 %f2, %f2, %f1;\nLAST: st.global.f32 [%rd4], %f2; ret;");
  Allocation* x = t.buffer(std::vector<float>(65, 1.0f));
  Allocation* y = t.buffer(std::vector<float>(64, 0.0f), "y");
  ASSERT_EQ(t.launch(x->base + 4, y->base, 0, {1, 1, 1}, {64, 1, 1}).status, LaunchStatus::ok);
  const auto log = t.device.take_log();
  ASSERT_EQ(log.kernels.size(), 1u);
  const evidence::Counters& c = log.kernels[0].totals;
  using M = evidence::Metric;
  EXPECT_EQ(c[M::global_requests], 4u);
  EXPECT_EQ(c[M::global_sectors], 2u * 5 + 2 * 4);    // the loads start 4 bytes behind a sector
  EXPECT_EQ(c[M::global_load_bytes], 256u);
  EXPECT_EQ(c[M::global_store_bytes], 256u);
  EXPECT_EQ(c[M::global_store_requests], 2u);
  EXPECT_EQ(c[M::global_store_sectors], 8u);
  EXPECT_EQ(c[M::global_partial_sectors], 0u);
  EXPECT_EQ(c[M::global_l1_cycles], 2u + 2 * 2);      // a load's wavefront, or a store's two packets
  EXPECT_EQ(c[M::flops_f32], 64u * 3 + 40);
  EXPECT_EQ(c[M::branches], 2u);
  EXPECT_EQ(c[M::divergent_branches], 1u);
  EXPECT_EQ(c[M::inst_executed], 2u * 15);
  EXPECT_EQ(c[M::thread_inst_executed], 64u * 15);    // ptxas makes a predicate of so short a branch: every lane stays active
  EXPECT_DOUBLE_EQ(log.kernels[0].independent_loads, 1);
}

TEST(Executor, ABranchThatIsNoPredicateDividesItsWarp) {
  TestDevice t;
  t.device.set_checks({.safety = false, .profile = true});
  t.load_body(kStart + "ld.global.f32 %f1, [%rd3];\n"
              "setp.ge.u32 %p1, %r1, 40; @%p1 bra LAST; ex2.approx.f32 %f1, %f1;\nLAST: st.global.f32 [%rd4], %f1; ret;");
  Allocation* x = t.buffer(std::vector<float>(64, 1.0f));
  Allocation* y = t.buffer(std::vector<float>(64, 0.0f), "y");
  ASSERT_EQ(t.launch(x->base, y->base, 0, {1, 1, 1}, {64, 1, 1}).status, LaunchStatus::ok);
  const auto log = t.device.take_log();
  const evidence::Counters& c = log.kernels.at(0).totals;
  EXPECT_EQ(c[evidence::Metric::inst_executed], 2u * 13);
  EXPECT_EQ(c[evidence::Metric::thread_inst_executed], 64u * 12 + 40);   // a guarded instruction counts all active lanes
}

TEST(Executor, LoadsBeforeTheFirstUseAreIndependent) {
  TestDevice t;
  t.device.set_checks({.safety = false, .profile = true});
  t.load_body(kStart + "ld.global.f32 %f1, [%rd3]; ld.global.f32 %f2, [%rd3+128]; ld.global.f32 %f3, [%rd3+256]; ld.global.f32 %f4, [%rd3+384];\n"
              "add.f32 %f1, %f1, %f2; add.f32 %f1, %f1, %f3; add.f32 %f1, %f1, %f4; st.global.f32 [%rd4], %f1; ret;");
  Allocation* x = t.buffer(std::vector<float>(128, 1.0f));
  Allocation* y = t.buffer(std::vector<float>(32, 0.0f), "y");
  ASSERT_EQ(t.launch(x->base, y->base, 0, {1, 1, 1}, {32, 1, 1}).status, LaunchStatus::ok);
  EXPECT_DOUBLE_EQ(t.device.take_log().kernels.at(0).independent_loads, 4);
}

// What an unrolled sum over a pointer that may alias looks like: ptxas issues the loads of the piece first. A store through another pointer ends that.
TEST(Executor, LoadsOfAStraightPieceAreInFlightTogether) {
  const auto in_flight = [](const std::string& second) {
    TestDevice t;
    t.device.set_checks({.safety = false, .profile = true});
    t.load_body(kStart + "ld.global.f32 %f1, [%rd3]; add.f32 %f1, %f1, %f1;\n" + second + "ld.global.f32 %f2, [%rd3+128]; add.f32 %f2, %f2, %f1; st.global.f32 [%rd4], %f2; ret;");
    Allocation* x = t.buffer(std::vector<float>(128, 1.0f));
    Allocation* y = t.buffer(std::vector<float>(32, 0.0f), "y");
    EXPECT_EQ(t.launch(x->base, y->base, 0, {1, 1, 1}, {32, 1, 1}).status, LaunchStatus::ok);
    return t.device.take_log().kernels.at(0).loads_in_flight;
  };
  EXPECT_DOUBLE_EQ(in_flight(""), 2);
  EXPECT_DOUBLE_EQ(in_flight("st.global.f32 [%rd3+256], %f1;\n"), 2) << "through the same register, elsewhere";
  EXPECT_DOUBLE_EQ(in_flight("st.global.f32 [%rd4], %f1;\n"), 1);
  EXPECT_DOUBLE_EQ(in_flight("bar.sync 0;\n"), 1);
}

// A kernel of 100 blocks of one thread, of which `wanted` run; its first parameter is `x`.
LaunchResult launch_sampled(TestDevice& t, const Allocation* x, std::uint64_t wanted) {
  std::vector<std::byte> parameters(20);
  std::memcpy(parameters.data(), &x->base, 8);
  LaunchRequest request;
  request.kernel = t.device.find_kernel(t.module, "kernel");
  request.grid = {100, 1, 1};
  request.block = {1, 1, 1};
  request.parameters = parameters;
  request.sampled_blocks = wanted;
  return t.device.launch(request);
}

TEST(Executor, SampledGridsRunBlocksSpreadOverTheGrid) {
  TestDevice t;
  t.load_body(kStart + "mov.u32 %r3, %ctaid.x; mul.wide.u32 %rd6, %r3, 4; add.u64 %rd7, %rd1, %rd6; mov.u32 %r4, 1; st.global.u32 [%rd7], %r4; ret;");
  Allocation* x = t.buffer(std::vector<int>(100, 0));
  ASSERT_EQ(launch_sampled(t, x, 10).status, LaunchStatus::ok);
  const auto values = TestDevice::values<int>(x);
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), 10);
  EXPECT_GT(std::accumulate(values.begin() + 50, values.end(), 0), 3);
  EXPECT_EQ(t.device.take_log().sampled_blocks, 10u);
}

TEST(Executor, TheSeedSaysWhichBlocksAreSampled) {
  const auto sampled = [](std::uint64_t seed) {
    TestDevice t;
    t.load_body(kStart + "mov.u32 %r3, %ctaid.x; mul.wide.u32 %rd6, %r3, 4; add.u64 %rd7, %rd1, %rd6; mov.u32 %r4, 1; st.global.u32 [%rd7], %r4; ret;");
    t.device.set_seed(seed);
    Allocation* x = t.buffer(std::vector<int>(100, 0));
    EXPECT_EQ(launch_sampled(t, x, 10).status, LaunchStatus::ok);
    return TestDevice::values<int>(x);
  };
  const std::vector<int> one = sampled(1), other = sampled(2);
  EXPECT_NE(one, other);
  EXPECT_EQ(one, sampled(1));
  for (const auto& values : {one, other})
    for (int part = 0; part < 10; ++part) EXPECT_EQ(std::accumulate(values.begin() + 10 * part, values.begin() + 10 * part + 10, 0), 1) << part;
}

// The more blocks are taken, the narrower are the parts from which they are drawn.
TEST(Executor, NoSampledBlockRunsTwice) {
  for (const std::uint64_t wanted : {34u, 51u, 67u, 99u, 100u})
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      TestDevice t;
      t.load_body(kStart + "mov.u32 %r3, %ctaid.x; mul.wide.u32 %rd6, %r3, 4; add.u64 %rd7, %rd1, %rd6; red.global.add.u32 [%rd7], 1; ret;");
      t.device.set_seed(seed);
      Allocation* x = t.buffer(std::vector<int>(100, 0));
      ASSERT_EQ(launch_sampled(t, x, wanted).status, LaunchStatus::ok);
      const auto values = TestDevice::values<int>(x);
      EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), static_cast<int>(wanted));
      EXPECT_EQ(*std::max_element(values.begin(), values.end()), 1) << wanted << " of 100, seed " << seed;
    }
}

TEST(Executor, FaultsSayWhatWasTouched) {
  TestDevice t;
  t.load_body(kStart + "ld.global.u32 %r3, [%rd3]; st.global.u32 [%rd4], %r3; ret;");
  Allocation* x = t.buffer(iota(32));
  Allocation* y = t.buffer(iota(32), "y");
  const Address freed = x->base;
  t.device.memory().free(freed);
  const std::pair<Address, std::string> table[] = {{freed, "free"}, {0, "null"}, {reinterpret_cast<Address>(&t), "outside every live allocation"}};
  for (const auto& [address, word] : table) {
    EXPECT_EQ(t.launch(address, y->base, 0, {1, 1, 1}, {32, 1, 1}).status, LaunchStatus::illegal_address);
    const auto log = t.device.take_log();
    ASSERT_FALSE(log.violations.empty()) << word;
    EXPECT_EQ(log.violations[0].contract, "safety.bounds");
    EXPECT_NE(log.violations[0].message.find(word), std::string::npos) << log.violations[0].message;
  }
}

TEST(Executor, WarpOperationsNameTheirLanes) {
  TestDevice t;
  t.load_body(kStart + "vote.sync.ballot.b32 %r3, 1, %r2; st.global.u32 [%rd4], %r3; ret;");
  Allocation* y = t.buffer(iota(32));
  t.launch(y->base, y->base, 0xffff, {1, 1, 1}, {32, 1, 1});
  const auto outside = t.device.take_log();
  ASSERT_NE(find(outside, "mask-without-caller"), nullptr) << all(outside);
  EXPECT_EQ(find(outside, "mask-without-caller")->contract, "safety.barriers");
  TestDevice u;   // even lanes vote for all, odd ones wait at a barrier of the block
  u.load_body(kStart + "and.b32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, 1; @%p1 bra ODD; bar.warp.sync 0xffffffff; bra END;\nODD: bar.sync 0;\nEND: st.global.u32 [%rd4], %r1; ret;");
  Allocation* z = u.buffer(iota(32));
  u.launch(z->base, z->base, 0, {1, 1, 1}, {32, 1, 1});
  const auto missing = u.device.take_log();
  EXPECT_NE(find(missing, "warp-sync-missing-lanes"), nullptr) << all(missing);
}

TEST(Executor, TrapsAndUnknownInstructionsAreNamed) {
  TestDevice t;
  t.load_body(kStart + "setp.eq.u32 %p1, %r1, 7; @%p1 trap; ret;");
  Allocation* y = t.buffer(iota(32));
  EXPECT_EQ(t.launch(y->base, y->base, 0, {1, 1, 1}, {32, 1, 1}).status, LaunchStatus::trap);
  const auto log = t.device.take_log();
  ASSERT_NE(find(log, "trap"), nullptr) << all(log);
  EXPECT_EQ(find(log, "trap")->contract, "run.crash");
  EXPECT_EQ(find(log, "trap")->thread.x, 7u);
  TestDevice u;
  u.load_body(kStart + "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %r1, 0, %p1, 1, 1, 0, 0; ret;", "", "sm_90a");
  Allocation* z = u.buffer(iota(32));
  EXPECT_EQ(u.launch(z->base, z->base, 0, {1, 1, 1}, {32, 1, 1}).status, LaunchStatus::illegal_instruction);
  const auto unknown = u.device.take_log();
  const evidence::Violation* v = find(unknown, "unsupported-instruction");
  ASSERT_NE(v, nullptr) << all(unknown);
  EXPECT_EQ(v->contract, "portability");
  EXPECT_TRUE(v->advice);
  EXPECT_NE(v->message.find("wgmma"), std::string::npos) << v->message;
}

}  // namespace
}  // namespace kforge::emulator
