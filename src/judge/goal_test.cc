// The contract `goal`, part by part.
#include "judge/goal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kforge::judge {
namespace {

using ::testing::HasSubstr;

GoalFigures figures(double us, const char* source = "modelled") {
  GoalFigures out;
  out.time = TimeReport{};
  out.time->us = us;
  out.time->p99_us = us;
  out.time->source = source;
  out.floor_us = 50;
  return out;
}

TEST(Goal, ComparesTheTimeAndSaysThatItIsModelled) {
  task::Goal goal;
  goal.us = 100;
  EXPECT_EQ(judge_goal(goal, figures(100)).status, Status::passed);
  EXPECT_EQ(judge_goal(goal, figures(100.1)).status, Status::failed);
  EXPECT_THAT(judge_goal(goal, figures(80)).measured, HasSubstr("modelled"));
  EXPECT_EQ(judge_goal(goal, figures(80)).evidence, "modelled");
  EXPECT_EQ(judge_goal(goal, {}).status, Status::unknown) << "without a time nothing is shown";
}

TEST(Goal, NeedsAMeasurementForTheSlowestPercent) {
  task::Goal goal;
  goal.p99_us = 100;
  EXPECT_EQ(judge_goal(goal, figures(10)).status, Status::unknown) << "a model has no spread";
  EXPECT_EQ(judge_goal(goal, figures(10, "measured")).status, Status::passed);
}

TEST(Goal, ComparesWithTheRoofline) {
  task::Goal goal;
  goal.roofline = 0.5;
  EXPECT_EQ(judge_goal(goal, figures(100)).status, Status::passed);
  EXPECT_EQ(judge_goal(goal, figures(101)).status, Status::failed);
  GoalFigures without_floor = figures(100);
  without_floor.floor_us = 0;
  EXPECT_EQ(judge_goal(goal, without_floor).status, Status::unknown);
}

TEST(Goal, ComparesWithTheFastestBaseline) {
  task::Goal goal;
  goal.versus = {"/tmp/mine.cu", "roofline"};
  goal.ratio = 0.5;
  GoalFigures f = figures(100);
  f.baselines_us["/tmp/mine.cu"] = 60;
  EXPECT_EQ(judge_goal(goal, f).status, Status::passed) << "the roofline, 50 us, is the fastest: exactly half";
  f.baselines_us["/tmp/mine.cu"] = 40;
  EXPECT_EQ(judge_goal(goal, f).status, Status::failed);
  EXPECT_THAT(judge_goal(goal, f).measured, HasSubstr("mine.cu"));
}

TEST(Goal, DoesNotGuessABaselineThatIsNotHere) {
  task::Goal goal;
  goal.versus = {"cublas", "roofline"};
  EXPECT_EQ(judge_goal(goal, figures(100)).status, Status::failed) << "slower than one of them is slower than the best of them";
  goal.ratio = 0.1;
  const ContractReport report = judge_goal(goal, figures(100));
  EXPECT_EQ(report.status, Status::unknown);
  EXPECT_THAT(report.measured, HasSubstr("cublas"));
}

TEST(Goal, SettlesAVerdictThatWasFormedWithoutIt) {
  task::Task task;
  Verdict verdict;
  verdict.status = VerdictStatus::error;
  verdict.contracts = {{"numerics", Level::required, Status::passed, "", "", ""}, {"shared.banks", Level::advice, Status::failed, "", "", ""}, {"goal", Level::required, Status::unknown, "", "", ""}};
  Verdict untouched = verdict;
  settle_goal(untouched, task, figures(10));
  EXPECT_EQ(untouched.status, VerdictStatus::error) << "no goal, nothing to settle";
  task.goal = task::Goal{};
  task.goal->us = 20;
  Verdict met = verdict;
  settle_goal(met, task, figures(10));
  EXPECT_EQ(met.status, VerdictStatus::accepted);
  EXPECT_EQ(met.contracts[2].level, Level::required);
  Verdict missed = verdict;
  settle_goal(missed, task, figures(30));
  EXPECT_EQ(missed.status, VerdictStatus::rejected);
  EXPECT_EQ(missed.why, "fails goal");
  Verdict wrong = verdict;
  wrong.contracts[0].status = Status::failed;
  settle_goal(wrong, task, figures(10));
  EXPECT_EQ(wrong.status, VerdictStatus::rejected) << "fast and wrong is worthless";
  Verdict unknown = verdict;
  settle_goal(unknown, task, {});
  EXPECT_EQ(unknown.status, VerdictStatus::error);
}

TEST(Goal, FailsWhenAnyPartFails) {
  task::Goal goal;
  goal.us = 10;
  goal.p99_us = 10;
  EXPECT_EQ(judge_goal(goal, figures(11)).status, Status::failed) << "failed comes before unknown";
}

}  // namespace
}  // namespace kforge::judge
