// Clusters: what blocks do to each other's shared memory, and what the observers make of a barrier or a wait that is missing.
#include <algorithm>
#include <functional>
#include <string>

#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

constexpr std::uint32_t kThreads = 32, kCluster = 2, kBlocks = 4;
const std::string kBefore = ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 data[1024];\n";
// r1 thread, r2 block, r3 rank, r4 the other's rank, r5 own word of `data`, r6 that of the other block, rd3 the thread's place in the output.
const std::string kStart =
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %cluster_ctarank;\nxor.b32 %r4, %r3, 1;\nld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\n"
    "mov.u32 %r5, data;\nmad.lo.u32 %r5, %r1, 4, %r5;\nmapa.shared::cluster.u32 %r6, %r5, %r4;\nmad.lo.u32 %r7, %r2, 32, %r1;\nmad.wide.u32 %rd3, %r7, 4, %rd2;\n"
    "setp.ne.u32 %p1, %r1, 0;\n";
const std::string kMeet = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
const std::string kOwnWord = "add.u32 %r8, %r7, 500;\nst.shared.u32 [%r5], %r8;\n";
const std::string kOther = "ld.shared::cluster.u32 %r9, [%r6];\nst.global.u32 [%rd3], %r9;\n";
const std::string kInit = "@%p1 bra READY;\nmbarrier.init.shared::cta.b64 [bar], 1;\nREADY:\n";
const std::string kWait = "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n";

struct Outcome {
  LaunchStatus status = LaunchStatus::ok;
  std::string detail;
  std::vector<std::uint32_t> out;
  std::vector<evidence::Violation> violations;
  bool has(std::string_view contract, std::string_view kind = {}) const {
    return std::any_of(violations.begin(), violations.end(), [&](const auto& v) { return v.contract == contract && (kind.empty() || v.kind == kind); });
  }
  std::string text() const {
    std::string all = detail;
    for (const auto& v : violations) all += "\n" + v.contract + " " + v.kind + ": " + v.message;
    return all;
  }
};

Outcome run(const std::string& body, std::uint64_t seed = 0) {
  TestDevice device;
  device.load_body(kStart + body + "ret;", kBefore);
  device.device.set_seed(seed);
  std::vector<std::uint32_t> input(1024);
  for (std::uint32_t i = 0; i < input.size(); ++i) input[i] = 9000 + i;
  Allocation* in = device.buffer(input, "in");
  Allocation* out = device.buffer(std::vector<std::uint32_t>(kBlocks * kThreads), "out");
  std::vector<std::byte> parameters(20);
  std::memcpy(parameters.data(), &in->base, 8);
  std::memcpy(parameters.data() + 8, &out->base, 8);
  LaunchRequest request;
  request.kernel = device.device.find_kernel(device.module, "kernel");
  request.grid = {kBlocks, 1, 1};
  request.block = {kThreads, 1, 1};
  request.cluster = {kCluster, 1, 1};
  request.parameters = parameters;
  const LaunchResult result = device.device.launch(request);
  return {result.status, result.detail, TestDevice::values<std::uint32_t>(out), device.device.take_log().violations};
}

// Under several orders of blocks and warps: right, and nothing is found.
void expect_clean(const std::string& body, const std::function<std::uint32_t(std::uint32_t block, std::uint32_t thread)>& expected) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    const Outcome outcome = run(body, seed);
    ASSERT_EQ(outcome.status, LaunchStatus::ok) << outcome.text();
    EXPECT_TRUE(outcome.violations.empty()) << outcome.text();
    for (std::uint32_t i = 0; i < outcome.out.size(); ++i) EXPECT_EQ(outcome.out[i], expected(i / kThreads, i % kThreads)) << i;
  }
}

std::uint32_t word_of_other(std::uint32_t block, std::uint32_t thread) { return 500 + (block ^ 1) * kThreads + thread; }

TEST(Clusters, ReadEachOthersSharedMemoryBetweenBarriers) { expect_clean(kOwnWord + kMeet + kOther + kMeet, word_of_other); }

TEST(Clusters, AReadBeforeTheBarrierIsARace) {
  const Outcome outcome = run(kOwnWord + kOther + kMeet);
  EXPECT_TRUE(outcome.has("safety.races") || outcome.has("safety.uninitialised")) << outcome.text();
  const Outcome relaxed = run(kOwnWord + "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n" + kOther + kMeet);
  EXPECT_TRUE(relaxed.has("safety.races")) << relaxed.text();
}

TEST(Clusters, AWriteBesideAReadIsARace) {
  const Outcome outcome = run(kOwnWord + kMeet + kOther + kOwnWord + kMeet);
  EXPECT_TRUE(outcome.has("safety.races")) << outcome.text();
}

TEST(Clusters, ABlockThatEndsWhileAnotherReadsIsFound) {
  const std::string late = "setp.eq.u32 %p3, %r3, 1;\n@%p3 bra END;\nmov.u32 %r10, 0;\nSPIN:\nadd.u32 %r10, %r10, 1;\nsetp.lt.u32 %p4, %r10, 30000;\n@%p4 bra SPIN;\n";
  const Outcome outcome = run(kOwnWord + kMeet + late + kOther + "END:\n");
  EXPECT_TRUE(outcome.has("safety.barriers", "cluster-block-ended")) << outcome.text();
  EXPECT_EQ(outcome.status, LaunchStatus::illegal_address);
}

// Here the reader comes first, and yet nothing keeps the other block until then.
TEST(Clusters, ABlockThatMayEndBeforeItIsReadIsARace) {
  const Outcome outcome = run(kOwnWord + kMeet + kOther);
  EXPECT_TRUE(outcome.has("safety.races") || outcome.has("safety.barriers", "cluster-block-ended")) << outcome.text();
}

TEST(Clusters, AnArrivalAtAnotherBlocksBarrierHandsOnWhatWasWrittenThere) {
  const std::string arrive = "bar.sync 0;\n@%p1 bra GONE;\nmov.u32 %r11, bar;\nmapa.shared::cluster.u32 %r12, %r11, %r4;\nmbarrier.arrive.shared::cluster.b64 _, [%r12];\nGONE:\n";
  const std::string write = "add.u32 %r8, %r7, 500;\nst.shared::cluster.u32 [%r6], %r8;\n", read = "ld.shared.u32 %r9, [%r5];\nst.global.u32 [%rd3], %r9;\n";
  expect_clean(kInit + kMeet + write + arrive + kWait + read + kMeet, word_of_other);
  const Outcome outcome = run(kInit + kMeet + write + arrive + read + kMeet);
  EXPECT_TRUE(outcome.has("safety.races") || outcome.has("safety.uninitialised")) << outcome.text();
}

TEST(Clusters, MulticastFillsTheSamePlaceOfEachBlock) {
  const std::string expect = "@%p1 bra TOLD;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\nTOLD:\n" + kMeet;
  const std::string copy = "or.b32 %r13, %r1, %r3;\nsetp.ne.u32 %p5, %r13, 0;\nmov.u32 %r14, data;\nmov.u32 %r15, bar;\nmov.b16 %h1, 3;\n@%p5 bra COPIED;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r14], [%rd1], 128, [%r15], %h1;\nCOPIED:\n";
  const std::string read = "ld.shared.u32 %r9, [%r5];\nst.global.u32 [%rd3], %r9;\n";
  expect_clean(kInit + "bar.sync 0;\n" + expect + copy + kWait + read + kMeet, [](std::uint32_t, std::uint32_t thread) { return 9000 + thread; });
  const Outcome outcome = run(kInit + "bar.sync 0;\n" + expect + copy + read + kMeet);
  EXPECT_TRUE(outcome.has("safety.races") || outcome.has("safety.uninitialised") || outcome.has("safety.async")) << outcome.text();
}

const std::string kArrive = "@%p1 bra GONE;\nmov.u32 %r11, bar;\nmapa.shared::cluster.u32 %r12, %r11, %r4;\nmbarrier.arrive.shared::cluster.b64 _, [%r12];\nGONE:\n";
const std::string kNumber = "st.global.u32 [%rd3], %r7;\n";
std::uint32_t number(std::uint32_t block, std::uint32_t thread) { return block * kThreads + thread; }

TEST(Clusters, AnMbarrierIsInitialisedBeforeOthersArriveAtIt) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    const Outcome outcome = run(kInit + "bar.sync 0;\n" + kArrive + kWait + kNumber + kMeet, seed);
    EXPECT_TRUE(outcome.has("safety.races") || outcome.has("safety.uninitialised", "mbarrier-uninitialised")) << seed << outcome.text();
  }
  expect_clean(kInit + kMeet + kArrive + kWait + kNumber + kMeet, number);
}

TEST(Clusters, AnMbarrierIsInitialisedBeforeAnothersCopyCountsOnIt) {
  const std::string expect = "@%p1 bra TOLD;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\nTOLD:\n";
  const std::string copy = "or.b32 %r13, %r1, %r3;\nsetp.ne.u32 %p5, %r13, 0;\nmov.u32 %r14, data;\nmov.u32 %r15, bar;\nmov.b16 %h1, 3;\n@%p5 bra COPIED;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r14], [%rd1], 128, [%r15], %h1;\nCOPIED:\n";
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    const Outcome outcome = run(kInit + "bar.sync 0;\n" + expect + copy + kWait + kNumber + kMeet, seed);
    EXPECT_TRUE(outcome.has("safety.races") || outcome.has("safety.uninitialised", "mbarrier-uninitialised")) << seed << outcome.text();
  }
}

// As CUTLASS has it: the fence hands on what was initialised, the arrival itself nothing.
TEST(Clusters, AFenceOfInitialisationAndARelaxedArrivalSuffice) {
  const std::string relaxed = "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait.acquire;\n";
  expect_clean(kInit + "fence.mbarrier_init.release.cluster;\n" + relaxed + kArrive + kWait + kNumber + kMeet, number);
  const Outcome outcome = run(kInit + relaxed + kArrive + kWait + kNumber + kMeet);
  EXPECT_TRUE(outcome.has("safety.races")) << outcome.text();
}

TEST(Clusters, LoadsFillTheirRegistersAsThoseOfOwnMemoryDo) {
  const std::string negative = "not.b32 %r8, %r7;\nst.shared.u32 [%r5], %r8;\n";
  expect_clean(negative + kMeet + "ld.shared::cluster.s32 %rd5, [%r6];\nshr.s64 %rd5, %rd5, 32;\ncvt.u32.u64 %r9, %rd5;\nst.global.u32 [%rd3], %r9;\n" + kMeet, [](std::uint32_t, std::uint32_t) { return ~0u; });
  expect_clean(negative + kMeet + "ld.shared::cluster.s8 %r9, [%r6+3];\nst.global.u32 [%rd3], %r9;\n" + kMeet, [](std::uint32_t, std::uint32_t) { return ~0u; });
}

TEST(Clusters, GenericAddressesReachOtherBlocks) {
  const std::string place = "cvt.u64.u32 %rd4, %r5;\ncvta.shared.u64 %rd4, %rd4;\nmapa.u64 %rd5, %rd4, %r4;\n";
  expect_clean(kOwnWord + place + kMeet + "ld.u32 %r9, [%rd5];\nst.global.u32 [%rd3], %r9;\n" + kMeet, word_of_other);
  expect_clean(place + "getctarank.u64 %r9, %rd5;\nisspacep.shared::cta %p2, %rd5;\nisspacep.shared::cluster %p3, %rd5;\n@%p2 add.u32 %r9, %r9, 10;\n@%p3 add.u32 %r9, %r9, 100;\nst.global.u32 [%rd3], %r9;\n",
               [](std::uint32_t block, std::uint32_t) { return 100 + (block ^ 1) % 2; });
}

TEST(Clusters, UpdatesOfAnothersMemoryAreNoRacesUnlessTheirScopeIsTheBlock) {
  const std::string zero = "mov.u32 %r8, 0;\nst.shared.u32 [%r5], %r8;\n", read = "ld.shared.u32 %r9, [%r5];\nst.global.u32 [%rd3], %r9;\n";
  for (const std::string scope : {"", ".cluster", ".gpu", ".cta"}) {
    const std::string body = zero + kMeet + "red" + (scope.empty() ? "" : ".relaxed" + scope) + ".shared::cluster.add.u32 [%r6], 5;\nred" + (scope.empty() ? "" : ".relaxed" + scope) + ".shared::cta.add.u32 [%r5], 2;\n" + kMeet + read + kMeet;
    if (scope != ".cta") expect_clean(body, [](std::uint32_t, std::uint32_t) { return 7; });
    else EXPECT_TRUE(run(body).has("safety.races", "race-scope")) << run(body).text();
  }
}

TEST(Clusters, StoresThatABarrierCountsArriveBeforeItsPhaseEnds) {
  const std::string expect = "@%p1 bra TOLD;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\nTOLD:\n";
  const std::string send = "add.u32 %r8, %r7, 500;\nmov.u32 %r11, bar;\nmapa.shared::cluster.u32 %r12, %r11, %r4;\nst.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r6], %r8, [%r12];\n";
  const std::string read = "ld.shared.u32 %r9, [%r5];\nst.global.u32 [%rd3], %r9;\n";
  expect_clean(kInit + kMeet + expect + send + kWait + read + kMeet, word_of_other);
  const Outcome early = run(kInit + kMeet + expect + send + read + kWait + kMeet);
  EXPECT_TRUE(early.has("safety.races") || early.has("safety.async")) << early.text();
  const std::string elsewhere = "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r6], %r7, [bar];\n";
  EXPECT_EQ(run(kInit + kMeet + expect + elsewhere).status, LaunchStatus::illegal_instruction);
}

TEST(Clusters, ACopyToAnotherBlockReadsUntilItIsDone) {
  const std::string expect = "@%p1 bra TOLD;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\nTOLD:\n";
  const std::string copy = "mov.u32 %r11, bar;\nmapa.shared::cluster.u32 %r12, %r11, %r4;\nmov.u32 %r13, data;\nmapa.shared::cluster.u32 %r14, %r13, %r4;\n@%p1 bra COPIED;\n"
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r14+256], [%r13], 128, [%r12];\nCOPIED:\n";
  const std::string read = "ld.shared.u32 %r9, [%r5+256];\nst.global.u32 [%rd3], %r9;\n", fence = "fence.proxy.async.shared::cta;\n";
  expect_clean(kInit + kOwnWord + fence + kMeet + expect + copy + kWait + read + kMeet, word_of_other);
  const Outcome unfenced = run(kInit + kOwnWord + kMeet + expect + copy + kWait + read + kMeet);
  EXPECT_TRUE(unfenced.has("safety.async", "missing-proxy-fence")) << unfenced.text();
  const Outcome overwritten = run(kInit + kOwnWord + fence + kMeet + expect + copy + "st.shared.u32 [%r5], %r7;\n" + kWait + read + kMeet);
  EXPECT_TRUE(overwritten.has("safety.races")) << overwritten.text();
}

TEST(Clusters, AWaitWithoutArrivalAndARankThatIsNotThereStop) {
  EXPECT_TRUE(run("barrier.cluster.wait;\n").has("safety.barriers", "cluster-barrier-wait"));
  EXPECT_TRUE(run("barrier.cluster.arrive;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n").has("safety.barriers", "cluster-barrier-twice"));
  EXPECT_EQ(run("mov.u32 %r10, 2;\nmapa.shared::cluster.u32 %r11, %r5, %r10;\n").status, LaunchStatus::illegal_instruction);
}

TEST(Clusters, ABarrierThatOneBlockLeavesOutIsPassedWhenThatHasEnded) {
  expect_clean("setp.eq.u32 %p3, %r3, 0;\n@%p3 bra END;\n" + kMeet + "END:\nst.global.u32 [%rd3], %r7;\n", [](std::uint32_t block, std::uint32_t thread) { return block * kThreads + thread; });
}

}  // namespace
}  // namespace kforge::emulator
