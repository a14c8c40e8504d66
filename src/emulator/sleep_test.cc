// Warps that sleep: nanosleep and waits for a phase cost no rounds, time-outs end, and a wait for nobody is a hang.
#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

struct Outcome {
  LaunchResult result;
  std::vector<std::uint32_t> q;
};

const std::string kBefore = ".shared .align 8 .b64 bar;\n";

Outcome run(const std::string& body, evidence::Dim3 grid, std::uint32_t threads) {
  TestDevice device;
  device.load_body("mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\n" + body + "ret;", kBefore);
  Allocation* p = device.buffer(std::vector<std::uint32_t>(64), "p");
  Allocation* q = device.buffer(std::vector<std::uint32_t>(64), "q");
  const LaunchResult result = device.launch(p->base, q->base, 0, grid, {threads, 1, 1});
  return {result, TestDevice::values<std::uint32_t>(q)};
}

// A loop of `rounds` instructions' worth of work on %r20.
std::string work(int rounds) {
  return "mov.u32 %r20, 0;\nWORK:\nadd.u32 %r20, %r20, 1;\nsetp.lt.u32 %p9, %r20, " + std::to_string(rounds) + ";\n@%p9 bra WORK;\n";
}

// Warp 0 waits with `wait` for what warp 1 does after long work; then thread 0 stores 7.
std::string producer_and_consumer(const std::string& signal, const std::string& wait) {
  return "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\nmbarrier.init.shared::cta.b64 [bar], 1;\nREADY:\nbar.sync 0;\n"
         "setp.ge.u32 %p2, %r1, 32;\n@%p2 bra PRODUCE;\n" + wait + "mov.u32 %r4, 7;\nst.global.u32 [%rd2], %r4;\nret;\nPRODUCE:\n" + work(100'000) +
         "setp.ne.u32 %p3, %r1, 32;\n@%p3 ret;\n" + signal;
}

TEST(Sleep, AWarpThatWaitsForAPhaseRunsAFewInstructions) {
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 %rd5, [bar];\n";
  for (const std::string wait : {"try_wait.parity.shared::cta.b64 %p4, [bar], 0", "try_wait.parity.shared::cta.b64 %p4, [bar], 0, 20", "test_wait.parity.shared::cta.b64 %p4, [bar], 0"}) {
    // As libcu++ does: the time is read and kept, so that no two rounds are alike.
    const Outcome outcome = run(producer_and_consumer(arrive, "WAIT:\nmov.u64 %rd6, %globaltimer;\nmbarrier." + wait + ";\n@!%p4 bra WAIT;\n"), {1, 1, 1}, 64);
    ASSERT_EQ(outcome.result.status, LaunchStatus::ok) << outcome.result.detail;
    EXPECT_EQ(outcome.q[0], 7u);
    EXPECT_LT(outcome.result.thread_instructions, 32u * 300'000 + 20'000);
  }
}

TEST(Sleep, AFlagPolledBetweenSleepsIsSeen) {
  const std::string store = "mov.u32 %r5, 1;\nst.volatile.global.u32 [%rd1], %r5;\n";
  const Outcome outcome = run(producer_and_consumer(store, "mov.u32 %r6, 1;\nWAIT:\nnanosleep.u32 %r6;\nadd.u32 %r6, %r6, %r6;\nld.volatile.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p4, %r5, 0;\n@%p4 bra WAIT;\n"), {1, 1, 1}, 64);
  ASSERT_EQ(outcome.result.status, LaunchStatus::ok) << outcome.result.detail;
  EXPECT_EQ(outcome.q[0], 7u);
  EXPECT_LT(outcome.result.thread_instructions, 32u * 300'000 + 20'000);
}

// Each of 32 warps waits for a million clocks, one after the other: all but the first skip the short steps.
TEST(Sleep, WarpsThatWaitForAClockOneAfterTheOtherRunAFewInstructions) {
  const Outcome outcome = run("mov.u64 %rd6, %clock64;\nWAIT:\nmov.u64 %rd7, %clock64;\nsub.u64 %rd7, %rd7, %rd6;\nsetp.lt.u64 %p1, %rd7, 1000000;\n@%p1 bra WAIT;\n"
                              "setp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\nst.global.u32 [%rd2], 1;\n", {1, 1, 1}, 1024);
  ASSERT_EQ(outcome.result.status, LaunchStatus::ok) << outcome.result.detail;
  EXPECT_EQ(outcome.q[0], 1u);
  EXPECT_LT(outcome.result.thread_instructions, 1024u * 130);   // 230 a thread where each goes through all steps
}

// Block 0 sleeps until the last of many blocks, which is not resident at first, has stored.
TEST(Sleep, BlocksThatAreWaitedForBecomeResident) {
  const Outcome outcome = run("setp.ne.u32 %p1, %r2, 0;\n@%p1 bra LAST;\nWAIT:\nmov.u64 %rd6, %clock64;\nnanosleep.u32 50;\nld.volatile.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p4, %r5, 0;\n@%p4 bra WAIT;\n"
                              "st.global.u32 [%rd2], %r5;\nret;\nLAST:\nWAIT2:\nmov.u64 %rd6, %clock64;\nnanosleep.u32 50;\nsetp.eq.u32 %p5, %r2, 39;\n@%p5 bra STORE;\nld.volatile.global.u32 %r5, [%rd1];\n"
                              "setp.eq.u32 %p4, %r5, 0;\n@%p4 bra WAIT2;\nret;\nSTORE:\nmov.u32 %r5, 9;\nst.volatile.global.u32 [%rd1], %r5;\n", {40, 1, 1}, 1);
  ASSERT_EQ(outcome.result.status, LaunchStatus::ok) << outcome.result.detail;
  EXPECT_EQ(outcome.q[0], 9u);
}

TEST(Sleep, AWaitWithATimeOutEnds) {
  const std::string body = "mov.u64 %rd3, %globaltimer;\nWAIT:\nnanosleep.u32 1000;\nmov.u64 %rd4, %globaltimer;\nsub.u64 %rd5, %rd4, %rd3;\nsetp.lt.u64 %p1, %rd5, 3000000;\n@%p1 bra WAIT;\n"
                           "mul.wide.u32 %rd6, %r1, 4;\nadd.u64 %rd6, %rd2, %rd6;\nst.global.u32 [%rd6], %r1;\n";
  const Outcome outcome = run(body, {1, 1, 1}, 64);
  ASSERT_EQ(outcome.result.status, LaunchStatus::ok) << outcome.result.detail;
  EXPECT_EQ(outcome.q[63], 63u);
}

TEST(Sleep, LanesOfOneWarpSleepApart) {
  // Odd lanes sleep until the even ones, which come later in the program, have counted.
  const std::string body = "and.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra EVEN;\nWAIT:\nnanosleep.u32 100;\nld.volatile.global.u32 %r5, [%rd1];\nsetp.lt.u32 %p2, %r5, 16;\n@%p2 bra WAIT;\nbra END;\n"
                           "EVEN:\nred.global.add.u32 [%rd1], 1;\nEND:\nred.global.add.u32 [%rd2], 1;\n";
  const Outcome outcome = run(body, {1, 1, 1}, 32);
  ASSERT_EQ(outcome.result.status, LaunchStatus::ok) << outcome.result.detail;
  EXPECT_EQ(outcome.q[0], 32u);
}

TEST(Sleep, AWaitForNobodyIsAHang) {
  const std::string ready = "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\nmbarrier.init.shared::cta.b64 [bar], 65;\nREADY:\nbar.sync 0;\nmbarrier.arrive.shared::cta.b64 %rd5, [bar];\n";
  for (const std::string clock : {"", "mov.u64 %rd6, %globaltimer;\n"}) {
    const Outcome phase = run(ready + "WAIT:\n" + clock + "mbarrier.try_wait.shared::cta.b64 %p4, [bar], %rd5;\n@!%p4 bra WAIT;\n", {1, 1, 1}, 64);
    EXPECT_EQ(phase.result.status, LaunchStatus::hang) << clock;
    EXPECT_NE(phase.result.detail.find("64 threads (first block (0, 0, 0))"), std::string::npos) << phase.result.detail;
    EXPECT_NE(phase.result.detail.find("on the mbarrier at shared offset 0"), std::string::npos) << phase.result.detail;
    const Outcome flag = run("WAIT:\n" + clock + "nanosleep.u32 40;\nld.volatile.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p4, %r5, 0;\n@%p4 bra WAIT;\n", {1, 1, 1}, 64);
    EXPECT_EQ(flag.result.status, LaunchStatus::hang) << clock;
    EXPECT_NE(flag.result.detail.find("on offset 0 of `p`, which holds 0"), std::string::npos) << flag.result.detail;
  }
}

}  // namespace
}  // namespace kforge::emulator
