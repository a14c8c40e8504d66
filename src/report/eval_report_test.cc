#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kforge/eval.h"

namespace kforge {
namespace {

using testing::AllOf;
using testing::HasSubstr;

EvalReport some_report() {
  EvalReport report;
  report.suite = "suite";
  report.rows.resize(4);
  const double speedups[] = {0.9, 1.6, 3.0, 5.0};
  for (std::size_t i = 0; i < 4; ++i) {
    EvalRow& row = report.rows[i];
    row.task = "task" + std::to_string(i);
    row.outcome = "goal";
    row.correct = row.accepted = i != 3;   // the last one is fast and wrong
    row.speedup = speedups[i];
    row.us = 10, row.baseline_us = 10 * speedups[i];
  }
  return report;
}

TEST(Eval, OnlyRightKernelsAreFast) {
  const EvalReport report = some_report();
  EXPECT_DOUBLE_EQ(report.correct_rate(), 0.75);
  EXPECT_DOUBLE_EQ(report.fast(0.8), 0.75);
  EXPECT_DOUBLE_EQ(report.fast(1.0), 0.5);
  EXPECT_DOUBLE_EQ(report.fast(1.6), 0.25);   // more than p, not as much
  EXPECT_DOUBLE_EQ(EvalReport{}.fast(1), 0);
}

TEST(Eval, TableAndJsonSayTheSame) {
  const std::string text = to_text(some_report());
  EXPECT_THAT(text, AllOf(HasSubstr("correct 75%"), HasSubstr("fast_0.8 75%"), HasSubstr("fast_1 50%"), HasSubstr("fast_2 25%"), HasSubstr("1.60x")));
  const auto json = nlohmann::json::parse(to_json(some_report()));
  EXPECT_EQ(json["schema"], "kforge.eval/1");
  EXPECT_EQ(json["correct_rate"], 0.75);
  EXPECT_EQ(json["fast_p"]["1.5"], 0.5);
  EXPECT_EQ(json["tasks"].size(), 4u);
}

}  // namespace
}  // namespace kforge
