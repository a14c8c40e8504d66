// Performance contracts, times and goals in the verdict, on made-up evidence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/judging_test.h"

namespace kforge::judge {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

TEST_F(Judging, WastedSectorsFailCoalescingAtTheHotLine) {
  using evidence::Metric;
  trial::CallEvidence call = good_call(true);
  auto& kernel = call.log.kernels[0];
  kernel.lines[0].counters[Metric::global_sectors] = kernel.totals[Metric::global_sectors] = 21;
  EXPECT_THAT(failed(conclude({call})), Contains("memory.coalescing"));
  kernel.lines[0].counters[Metric::global_sectors] = kernel.totals[Metric::global_sectors] = 20;
  EXPECT_THAT(failed(conclude({call})), Not(Contains("memory.coalescing"))) << "1.25 is allowed";
}

TEST_F(Judging, ColdLinesDoNotCount) {
  using evidence::Metric;
  trial::CallEvidence call = good_call(true);
  auto& kernel = call.log.kernels[0];
  evidence::LineProfile cold;
  cold.position.frames.push_back({"twice.cu", 9, 1, ""});
  cold.counters[Metric::global_sectors] = 9;
  cold.counters[Metric::global_sectors_ideal] = 1;
  kernel.lines.push_back(cold);
  kernel.totals[Metric::global_sectors] = 1000;
  EXPECT_THAT(failed(conclude({call})), Not(Contains("memory.coalescing")));
  kernel.totals[Metric::global_sectors] = 900;
  EXPECT_THAT(failed(conclude({call})), Contains("memory.coalescing"));
}

TEST_F(Judging, ExtraWavefrontsFailBanks) {
  using evidence::Metric;
  trial::CallEvidence call = good_call(true);
  auto& kernel = call.log.kernels[0];
  for (auto* counters : {&kernel.lines[0].counters, &kernel.totals}) {
    (*counters)[Metric::shared_wavefronts] = 101;
    (*counters)[Metric::shared_wavefronts_ideal] = 100;
  }
  EXPECT_THAT(failed(conclude({call})), ElementsAre("shared.banks"));
}

TEST_F(Judging, IdleLanesFailDivergence) {
  using evidence::Metric;
  trial::CallEvidence call = good_call(true);
  auto& kernel = call.log.kernels[0];
  kernel.lines[0].counters[Metric::thread_inst_executed] = kernel.totals[Metric::thread_inst_executed] = 20 * 23;
  EXPECT_THAT(failed(conclude({call})), ElementsAre("compute.divergence"));
}

TEST_F(Judging, SpillsFail) {
  trial_.artefact.kernels[0].spill_store_bytes = 4;
  EXPECT_THAT(failed(conclude({good_call(true)})), ElementsAre("registers.spill"));
}

TEST_F(Judging, WithAGoalPerformanceExplainsAndTheGoalDecides) {
  trial_.artefact.kernels[0].spill_store_bytes = 4;
  task_.goal = task::Goal{};
  task_.goal->us = 10;
  const Verdict verdict = conclude({good_call(true)});
  EXPECT_EQ(verdict.status, VerdictStatus::error) << "the goal is must-know, and unknown without a clock";
  EXPECT_EQ(contract(verdict, "registers.spill").level, Level::advice);
  EXPECT_EQ(contract(verdict, "registers.spill").status, Status::failed);
}

TEST_F(Judging, TheTaskMayMoveLevelsAndThresholds) {
  trial_.artefact.kernels[0].spill_store_bytes = 4;
  task_.contracts["registers.spill"].level = task::Level::off;
  EXPECT_EQ(contract(conclude({good_call(true)}), "registers.spill").status, Status::off);
  EXPECT_EQ(conclude({good_call(true)}).status, VerdictStatus::accepted);
  task_.contracts["registers.spill"] = {};
  task_.contracts["registers.spill"].thresholds["max_bytes"] = 8;
  EXPECT_EQ(conclude({good_call(true)}).status, VerdictStatus::accepted);
}

TEST_F(Judging, TheTimeIsThatOfEveryMeasuredSizeOrThereIsNone) {
  const Verdict all = conclude({good_call(true)});
  ASSERT_TRUE(all.time);
  EXPECT_GT(all.time->us, 0);
  task_.measure.push_back({{"n", 128}});
  EXPECT_FALSE(conclude({good_call(true)}).time) << "a size that did not run costs nothing otherwise";
}

TEST_F(Judging, RequiredIsInFiguresWhateverRan) {
  for (const ContractReport& c : conclude({}).contracts) EXPECT_EQ(c.required.find('{'), std::string::npos) << c.id << ": " << c.required;
}

TEST_F(Judging, OnlyCorrectnessLeavesOffWhatTheTaskGivesALevel) {
  task_.contracts["memory.coalescing"] = {.level = task::Level::advice, .thresholds = {}};
  task_.contracts["shared.banks"] = {.level = task::Level::required, .thresholds = {}};
  const Verdict verdict = conclude({good_call(false)}, true);
  EXPECT_EQ(verdict.status, VerdictStatus::accepted) << verdict.why;
  EXPECT_EQ(contract(verdict, "memory.coalescing").status, Status::off);
}

TEST_F(Judging, OnlyCorrectnessLeavesPerformanceOff) {
  trial_.artefact.kernels[0].spill_store_bytes = 4;
  const Verdict verdict = conclude({good_call(true)}, true);
  EXPECT_EQ(verdict.status, VerdictStatus::accepted);
  EXPECT_EQ(contract(verdict, "registers.spill").status, Status::off);
}

}  // namespace
}  // namespace kforge::judge
