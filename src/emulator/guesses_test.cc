// The first load of a compare-and-swap loop, beside loads that are used as they are.
#include "emulator/guesses.h"

#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

// Findings of safety.races in a launch of blocks of 64 threads.
std::vector<std::string> findings(const std::string& body, std::uint32_t blocks = 4) {
  TestDevice test;
  test.device.set_checks({true, false});
  test.load_body("ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; " + body);
  Allocation* words = test.buffer<std::uint32_t>(std::vector<std::uint32_t>(64, 0));
  EXPECT_EQ(test.launch(words->base, 0, 0, {blocks, 1, 1}, {64, 1, 1}).status, LaunchStatus::ok);
  std::vector<std::string> found;
  for (const auto& v : test.device.take_log().violations)
    if (v.contract == "safety.races") found.push_back(v.message);
  return found;
}

constexpr const char* kLoop = "L: add.u32 %r3, %r2, 1; atom.global.cas.b32 %r4, [%rd1], %r2, %r3; setp.ne.u32 %p1, %r4, %r2; mov.u32 %r2, %r4; @%p1 bra L;\n";

TEST(Guesses, TheFirstLoadOfACompareAndSwapLoopIsNoRace) {
  EXPECT_EQ(findings(std::string("ld.global.u32 %r2, [%rd1];\n") + kLoop + "ret;"), std::vector<std::string>{});
  EXPECT_EQ(findings(std::string("ld.global.f32 %f1, [%rd1]; mov.b32 %r5, %f1; mov.u32 %r2, %r5;\n") + kLoop + "ret;"), std::vector<std::string>{});
}

TEST(Guesses, ALoadThatIsUsedAsItIsStaysOne) {
  EXPECT_FALSE(findings(std::string("ld.global.u32 %r6, [%rd1]; mov.u32 %r2, 0;\n") + kLoop + "add.u32 %r6, %r6, 1; ret;").empty());
}

TEST(Guesses, APlainWriteRacesWithAGuess) {
  const std::string one_writes = "setp.ne.u32 %p2, %r1, 0; mov.u32 %r7, 5; @%p2 bra S; st.global.u32 [%rd1], %r7;\nS: ";
  EXPECT_FALSE(findings(one_writes + "ld.global.u32 %r2, [%rd1];\n" + kLoop + "ret;", 1).empty());
}

}  // namespace
}  // namespace kforge::emulator
