// mbarrier objects: phases, parities, transactions, copies, and what the observers make of their absence.
#include "emulator/reference_engine.h"
#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

struct Outcome {
  LaunchStatus status = LaunchStatus::ok;
  std::string detail;
  std::vector<std::uint32_t> out;
  std::vector<evidence::Violation> violations;
};

const std::string kBefore = ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 data[1024];\n";

Outcome run(const std::string& body, std::uint32_t threads) {
  TestDevice device;
  device.load_body("mov.u32 %r1, %tid.x;\nld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nmad.wide.u32 %rd3, %r1, 4, %rd1;\nmad.wide.u32 %rd4, %r1, 4, %rd2;\n" + body + "ret;", kBefore);
  std::vector<std::uint32_t> input(1024);
  for (std::uint32_t i = 0; i < input.size(); ++i) input[i] = 1000 + i;
  Allocation* in = device.buffer(input, "in");
  Allocation* out = device.buffer(std::vector<std::uint32_t>(1024), "out");
  const LaunchResult result = device.launch(in->base, out->base, 0, {1, 1, 1}, {threads, 1, 1});
  return {result.status, result.detail, TestDevice::values<std::uint32_t>(out), device.device.take_log().violations};
}

std::vector<std::uint32_t> reference(const std::string& body, std::uint32_t threads) {
  auto module = ptx::parse(".version 9.0\n.target sm_90\n.address_size 64\n" + kBefore +
                           "\n.visible .entry kernel(.param .u64 p, .param .u64 q, .param .u32 n)\n{\n.reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .f32 %f<16>; .reg .f64 %fd<16>;\n"
                           "mov.u32 %r1, %tid.x;\nld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nmad.wide.u32 %rd3, %r1, 4, %rd1;\nmad.wide.u32 %rd4, %r1, 4, %rd2;\n" + body + "ret;\n}\n");
  EXPECT_TRUE(module) << (module ? "" : to_string(module.error()));
  ReferenceEngine engine(std::make_shared<const ptx::Module>(std::move(*module)));
  const std::uint64_t in = engine.allocate(4096), out = engine.allocate(4096);
  for (std::uint32_t i = 0; i < 1024; ++i) {
    const std::uint32_t value = 1000 + i;
    std::memcpy(engine.bytes(in).data() + 4 * i, &value, 4);
  }
  std::vector<std::byte> parameters(20);
  std::memcpy(parameters.data(), &in, 8);
  std::memcpy(parameters.data() + 8, &out, 8);
  const ReferenceResult result = engine.launch({"kernel", {1, 1, 1}, {threads, 1, 1}, 0, parameters});
  EXPECT_EQ(result.error, "");
  std::vector<std::uint32_t> values(1024);
  std::memcpy(values.data(), engine.bytes(out).data(), 4096);
  return values;
}

const std::string kInit = "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\nmbarrier.init.shared::cta.b64 [bar], 64;\nREADY:\nbar.sync 0;\n";
const std::string kStore = "mov.u32 %r2, data;\nmad.lo.u32 %r3, %r1, 4, %r2;\nld.global.u32 %r4, [%rd3];\nst.shared.u32 [%r3], %r4;\n";
const std::string kRead = "xor.b32 %r5, %r1, 63;\nmad.lo.u32 %r6, %r5, 4, %r2;\nld.shared.u32 %r7, [%r6];\nst.global.u32 [%rd4], %r7;\n";

// Each warp writes its words again after it has read the other's. An arrival of the next phase that has come already orders nothing for who waits for this one.
TEST(Mbarrier, AWaitForAPhaseIsNotOrderedAfterArrivalsOfTheNext) {
  const std::string start = kInit + kStore + "mbarrier.arrive.shared::cta.b64 %rd5, [bar];\nWAIT:\nmbarrier.try_wait.shared::cta.b64 %p2, [bar], %rd5;\n@!%p2 bra WAIT;\n" + kRead;
  const std::string over = "st.shared.u32 [%r3], %r1;\n", arrive = "mbarrier.arrive.shared::cta.b64 %rd6, [bar];\n";
  const auto races = [](const Outcome& outcome) {
    return std::count_if(outcome.violations.begin(), outcome.violations.end(), [](const auto& v) { return v.contract == "safety.races" && !v.advice; });
  };
  EXPECT_GT(races(run(start + over + arrive, 64)), 0);
  EXPECT_EQ(races(run(start + arrive + "AGAIN:\nmbarrier.try_wait.shared::cta.b64 %p2, [bar], %rd6;\n@!%p2 bra AGAIN;\n" + over, 64)), 0);
}

// Every thread stores, arrives, waits, and reads what a thread of the other warp stored.
TEST(Mbarrier, AWaitForThePhaseOrdersWhatArrivalsPublished) {
  for (const std::string wait : {"mbarrier.try_wait.shared::cta.b64 %p2, [bar], %rd5;\n", "mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n", "mbarrier.test_wait.shared::cta.b64 %p2, [bar], %rd5;\n"}) {
    const std::string body = kInit + kStore + "mbarrier.arrive.shared::cta.b64 %rd5, [bar];\nWAIT:\n" + wait + "@!%p2 bra WAIT;\n" + kRead;
    const Outcome outcome = run(body, 64);
    ASSERT_EQ(outcome.status, LaunchStatus::ok) << outcome.detail;
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(outcome.out[i], 1000 + (i ^ 63));
    for (const auto& v : outcome.violations) ADD_FAILURE() << v.contract << ": " << v.message;
    EXPECT_EQ(outcome.out, reference(body, 64));
  }
}

TEST(Mbarrier, WithoutTheWaitItIsARace) {
  const Outcome outcome = run(kInit + kStore + "mbarrier.arrive.shared::cta.b64 %rd5, [bar];\n" + kRead, 64);
  ASSERT_FALSE(outcome.violations.empty());
  EXPECT_TRUE(outcome.violations[0].contract == "safety.races" || outcome.violations[0].contract == "safety.uninitialised") << outcome.violations[0].contract;
}

// Here the first warp has always initialised the object when the second one comes to it. Nothing but the barrier makes it so.
TEST(Mbarrier, UsesOfAnObjectThatNoBarrierOrdersAfterItsInitialisationAreRaces) {
  const std::string init = "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\nmbarrier.init.shared::cta.b64 [bar], 64;\nREADY:\n";
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 %rd5, [bar];\n", wait = "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n";
  const auto races = [](const std::string& body) {
    const Outcome outcome = run(body, 64);
    return std::count_if(outcome.violations.begin(), outcome.violations.end(), [](const auto& v) { return v.contract == "safety.races" && !v.advice; });
  };
  EXPECT_GT(races(init + arrive + wait), 0);
  EXPECT_GT(races(init + "bar.warp.sync -1;\n" + arrive + wait), 0);   // orders the first warp only
  EXPECT_GT(races(init + "setp.lt.u32 %p3, %r1, 32;\n@!%p3 bra CONSUME;\nmbarrier.arrive.shared::cta.b64 %rd5, [bar], 2;\nbra OVER;\nCONSUME:\n" + wait + "OVER:\n"), 0);   // who only waits
  EXPECT_GT(races(init + "fence.mbarrier_init.release.cluster;\n" + arrive + wait), 0);
  EXPECT_EQ(races(init + "bar.sync 0;\n" + arrive + wait), 0);
}

TEST(Mbarrier, CopiesThatArriveAreThereWhenThePhaseIsOver) {
  const std::string body = kInit + "mov.u32 %r2, data;\nmad.lo.u32 %r3, %r1, 4, %r2;\ncp.async.ca.shared.global [%r3], [%rd3], 4;\ncp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
                           "WAIT:\nmbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n" + kRead;
  const Outcome outcome = run(body, 64);
  ASSERT_EQ(outcome.status, LaunchStatus::ok) << outcome.detail;
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(outcome.out[i], 1000 + (i ^ 63));
  for (const auto& v : outcome.violations) ADD_FAILURE() << v.contract << ": " << v.message;
  EXPECT_EQ(outcome.out, reference(body, 64));
}

// One thread: phases by count, drop and bytes in transit, seen through parities and pending counts.
TEST(Mbarrier, CountsDropsAndTransactions) {
  std::string body = "mbarrier.init.shared.b64 [bar], 3;\n";
  int at = 0;
  const auto parity = [&] {
    body += "mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;\nselp.u32 %r9, 1, 0, %p2;\nst.global.u32 [%rd2+" + std::to_string(4 * at++) + "], %r9;\n";
  };
  const auto pending = [&] { body += "mbarrier.pending_count.b64 %r9, %rd5;\nst.global.u32 [%rd2+" + std::to_string(4 * at++) + "], %r9;\n"; };
  parity();                                                                      // 0: phase 0 runs
  body += "mbarrier.arrive.release.cta.shared::cta.b64 %rd5, [bar], 2;\n";
  pending();                                                                     // 1: 3 were awaited
  parity();                                                                      // 2: still
  body += "mbarrier.arrive_drop.shared.b64 %rd5, [bar];\n";
  pending();                                                                     // 3: 1
  parity();                                                                      // 4: over
  body += "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd5, [bar], 64;\nmbarrier.arrive.shared.b64 %rd5, [bar];\n";
  pending();                                                                     // 5: two a phase since the drop, one came
  parity();                                                                      // 6: bytes are in transit: phase 1 runs, 0 is over
  body += "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 64;\n";
  parity();                                                                      // 7: phase 2 runs
  const Outcome outcome = run(body, 1);
  ASSERT_EQ(outcome.status, LaunchStatus::ok) << outcome.detail;
  const std::vector<std::uint32_t> expected = {0, 3, 0, 1, 1, 1, 1, 0};
  EXPECT_EQ(std::vector<std::uint32_t>(outcome.out.begin(), outcome.out.begin() + 8), expected);
  EXPECT_EQ(outcome.out, reference(body, 1));
}

// As a pipeline of libcu++ ends: the last warp to come ends the object, by a lane that a match gathers with those that have waited.
TEST(Mbarrier, ALaneEndsWhatItsWarpHasWaitedFor) {
  const std::string wait = "mbarrier.arrive.shared::cta.b64 %rd5, [bar];\nWAIT:\nmbarrier.try_wait.shared::cta.b64 %p2, [bar], %rd5;\n@!%p2 bra WAIT;\n";
  const std::string end = "activemask.b32 %r5;\nmov.u64 %rd6, 7;\nmatch.any.sync.b64 %r6, %rd6, %r5;\nmov.u32 %r7, %laneid;\nsetp.ne.u32 %p3, %r7, 0;\n@%p3 bra END;\nfence.sc.cta;\n"
                          "atom.add.acquire.cta.global.u32 %r8, [%rd2], 1;\nsetp.ne.u32 %p3, %r8, 1;\n@%p3 bra END;\nmbarrier.inval.shared::cta.b64 [bar];\nEND:\n";
  const Outcome outcome = run(kInit + wait + end, 64);
  EXPECT_EQ(outcome.status, LaunchStatus::ok) << outcome.detail;
  EXPECT_TRUE(outcome.violations.empty()) << outcome.violations.front().message;
}

TEST(Mbarrier, AnObjectThatWasNeverInitialisedIsReported) {
  const Outcome outcome = run("mbarrier.arrive.shared::cta.b64 %rd5, [bar];\n", 1);
  ASSERT_FALSE(outcome.violations.empty());
  EXPECT_EQ(outcome.violations[0].kind, "mbarrier-uninitialised");
}

}  // namespace
}  // namespace kforge::emulator
