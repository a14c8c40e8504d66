// What the rung "time" makes of its figures.
#include "trial/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kforge::trial {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Timing timing(double us, double burst, double fresh) {
  Timing out;
  out.us = out.p99_us = us;
  out.back_to_back_us = burst;
  out.fresh_us = fresh;
  return out;
}

Doubts doubts(double us) { return {.quiet_us = 4, .quiet_empty_us = 3, .enqueue_us = 3, .slack_us = 5, .slow_us = us}; }

TEST(Honesty, AnOrdinaryKernelIsHonest) {
  Timing one = timing(100, 96, 101);
  judge_honesty(doubts(100), {}, one);
  EXPECT_THAT(one.dishonest, IsEmpty());
  EXPECT_FALSE(one.host_bound);
  EXPECT_EQ(one.us, 100);
}

TEST(Honesty, ATinyKernelMayTakeItsLaunchInABurst) {
  Timing one = timing(2, 6.5, 2.1);
  judge_honesty(doubts(2), {}, one);
  EXPECT_THAT(one.dishonest, IsEmpty());
}

TEST(Honesty, WorkAfterTheStreamIsDoneIsSeen) {
  Timing one = timing(3, 4, 3);
  Doubts seen = doubts(3);
  seen.quiet_us = 60;
  judge_honesty(seen, {}, one);
  EXPECT_THAT(one.dishonest, ElementsAre(HasSubstr("work goes on for 57.0 us")));
}

TEST(Honesty, ALyingClockIsSeen) {
  Timing one = timing(10, 40, 10);
  judge_honesty(doubts(10), {}, one);
  EXPECT_THAT(one.dishonest, ElementsAre(HasSubstr("40.0 us by the parent's clock and 10.0 us by the events")));
}

TEST(Honesty, ALauncherThatTakesLongerThanItsKernelsCountsInFull) {
  Timing one = timing(10, 40, 10);
  Doubts seen = doubts(10);
  seen.enqueue_us = 38;
  judge_honesty(seen, {}, one);
  EXPECT_THAT(one.dishonest, IsEmpty());
  EXPECT_TRUE(one.host_bound);
  EXPECT_EQ(one.us, 40);
  EXPECT_EQ(one.p99_us, 40);
}

TEST(Honesty, AnswersKnownByHeartAreSeen) {
  Timing one = timing(10, 11, 30);
  judge_honesty(doubts(10), {}, one);
  EXPECT_THAT(one.dishonest, ElementsAre(HasSubstr("not seen before a call takes 30.0 us")));
}

TEST(Honesty, AShortKernelHasLittleRoomForAnswersKnownByHeart) {
  Timing one = timing(4, 4, 5.2), scattered = one;
  judge_honesty(doubts(4), {}, one);
  EXPECT_THAT(one.dishonest, ElementsAre(HasSubstr("not seen before a call takes 5.2 us")));
  scattered.spread = 0.3;   // a busy host's
  judge_honesty(doubts(4), {}, scattered);
  EXPECT_THAT(scattered.dishonest, IsEmpty());
}

TEST(Honesty, ABusyMachineIsNoLie) {
  Timing one = timing(10, 22, 18);
  Doubts seen = doubts(10);
  seen.slow_us = 16;   // a tenth of the samples took as long
  judge_honesty(seen, {}, one);
  EXPECT_THAT(one.dishonest, IsEmpty());
}

}  // namespace
}  // namespace kforge::trial
