// Volatile shared memory: a flag that somebody polls is one, an exchange without a barrier is a race.
#include <algorithm>

#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

// Kinds of the findings of two warps that run `code`; %r2 is the thread's own word of `s`, %r4 that of the same lane of the other warp.
std::vector<std::string> findings(const std::string& code) {
  TestDevice t;
  t.load_body("mov.u32 %r1, %tid.x; mov.u32 %r3, s; shl.b32 %r5, %r1, 2; add.u32 %r2, %r3, %r5; xor.b32 %r6, %r5, 128; add.u32 %r4, %r3, %r6;\n" + code,
              ".shared .align 4 .b8 s[256];");
  EXPECT_EQ(t.launch(0, 0, 0, {1, 1, 1}, {64, 1, 1}).status, LaunchStatus::ok);
  std::vector<std::string> kinds;
  for (const evidence::Violation& v : t.device.take_log().violations)
    if (v.contract == "safety.races") kinds.push_back(v.kind);
  return kinds;
}

TEST(VolatileShared, AnExchangeNeedsABarrier) {
  EXPECT_TRUE(findings("st.volatile.shared.u32 [%r2], %r1; bar.sync 0; ld.volatile.shared.u32 %r7, [%r4]; ret;").empty());
  EXPECT_FALSE(findings("st.volatile.shared.u32 [%r2], %r1; ld.volatile.shared.u32 %r7, [%r4]; ret;").empty());
}

TEST(VolatileShared, AnExchangeInALoopNeedsItsBarriers) {
  const auto loop = [](const std::string& barrier) {
    return "mov.u32 %r8, 0;\nL: st.volatile.shared.u32 [%r2], %r8; " + barrier + " ld.volatile.shared.u32 %r7, [%r4]; bar.sync 0;\n"
           "add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 3; @%p1 bra L; ret;";
  };
  EXPECT_TRUE(findings(loop("bar.sync 0;")).empty());
  EXPECT_FALSE(findings(loop("")).empty());
}

TEST(VolatileShared, AFlagThatIsPolledIsNoRace) {
  EXPECT_TRUE(findings("setp.ne.u32 %p1, %r1, 0; @%p1 bra WAIT; st.volatile.shared.u32 [%r3], 1; ret;\n"
                       "WAIT: ld.volatile.shared.u32 %r7, [%r3]; setp.ne.u32 %p2, %r7, 1; @%p2 bra WAIT; ret;").empty());
}

}  // namespace
}  // namespace kforge::emulator
