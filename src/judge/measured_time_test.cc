// Verdicts of trials in which a real GPU took part, on made-up evidence.
#include "judge/measured_time.h"

#include <algorithm>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/goal.h"
#include "judge/judge.h"

namespace kforge::judge {
namespace {

using testing::HasSubstr;

task::Task doubling() {
  task::Task task;
  task.name = "double";
  task.path = "task.toml";
  task.tensors.push_back({"x", task::Dtype::f32, {"n"}, {}, task::Role::in, {}});
  task.tensors.push_back({"y", task::Dtype::f32, {"n"}, {}, task::Role::out, {}});
  task.measure.push_back({{"n", 64}});
  return task;
}

trial::CallEvidence call(bool timed, float factor = 2) {
  trial::CallEvidence out;
  out.run.sizes = {{"n", 64}};
  out.run.label = "n=64";
  out.run.measure = true;
  out.completed = true;
  out.on_gpu = timed;
  out.timed = timed;
  trial::Output output{"y", {}, {}, {}};
  std::vector<float> x, y;
  std::vector<double> reference;
  for (int i = 0; i < 64; ++i) {
    x.push_back(static_cast<float>(i % 7) - 3.5f);
    y.push_back(factor * x.back());
    reference.push_back(2.0 * x.back());
  }
  output.reference = std::move(reference);
  const auto bytes = [](const std::vector<float>& values) {
    std::vector<std::byte> all(values.size() * sizeof(float));
    std::memcpy(all.data(), values.data(), all.size());
    return all;
  };
  output.bytes = bytes(y);
  out.inputs.push_back(bytes(x));
  out.outputs.push_back(output);
  if (timed) return out;
  using evidence::Metric;
  evidence::KernelProfile kernel;
  kernel.kernel = "twice";
  kernel.launch_count = 1;
  kernel.launches.push_back({{1, 1, 1}, {64, 1, 1}, 0, 0});
  kernel.totals[Metric::inst_executed] = 20;
  kernel.totals[Metric::thread_inst_executed] = 640;
  kernel.totals[Metric::global_load_bytes] = 256;
  kernel.totals[Metric::global_store_bytes] = 256;
  out.log.kernels.push_back(kernel);
  out.log.coverage.push_back({"y", 64, 0, 0, 0});
  return out;
}

trial::Timing timing(double us, const std::string& name = "") {
  trial::Timing out;
  out.name = name;
  out.sizes = {{"n", 64}};
  out.label = "n=64";
  out.us = out.p99_us = us;
  out.samples = 100;
  out.verified = 5;
  out.conditions.sm_mhz = 1980;
  return out;
}

class OnGpu : public testing::Test {
 protected:
  OnGpu() {
    trial_.artefact.ok = true;
    trial_.artefact.kernels.push_back({"twice", 16, 0, 0, 0, 0, 0, 0});
    trial_.rungs.push_back({"time", trial::RungStatus::passed, 1, ""});
  }
  Verdict conclude(const std::vector<trial::CallEvidence>& calls) {
    Judge judge(task_, sheet_, {"twice.cu", false, true, {"NVIDIA H200", "580", "13.0", 0, 0, 0, 0, false}});
    for (const trial::CallEvidence& one : calls) judge.see(one);
    auto verdict = judge.conclude(trial_);
    EXPECT_TRUE(verdict) << to_string(verdict.error());
    return verdict.value_or(Verdict{});
  }
  static const ContractReport& contract(const Verdict& verdict, const std::string& id) {
    return *std::find_if(verdict.contracts.begin(), verdict.contracts.end(), [&](const ContractReport& c) { return c.id == id; });
  }
  task::Task task_ = doubling();
  hardware::DataSheet sheet_ = hardware::find_sheet("h200").value();
  trial::TrialResult trial_;
};

TEST_F(OnGpu, AMeasuredTimeTakesTheModelledOnesPlace) {
  trial_.times = {timing(12), timing(24, "cublas")};
  const Verdict verdict = conclude({call(false), call(true)});
  ASSERT_TRUE(verdict.time);
  EXPECT_EQ(verdict.time->source, "measured");
  EXPECT_EQ(verdict.time->us, 12);
  EXPECT_GT(verdict.time->modelled_us, 0);
  EXPECT_THAT(verdict.time->bottleneck, HasSubstr("as the time model has it")) << "a clock does not say what bounds a kernel";
  ASSERT_EQ(verdict.time->baselines.size(), 1u);
  EXPECT_EQ(verdict.time->baselines[0].us, 24);
  EXPECT_EQ(verdict.time->conditions.gpu, "NVIDIA H200");
  EXPECT_EQ(verdict.time->conditions.sm_mhz, 1980);
  EXPECT_EQ(verdict.device, "NVIDIA H200");
  EXPECT_EQ(contract(verdict, "honest").status, Status::passed);
}

TEST_F(OnGpu, WhatSpeaksAgainstTheTimeRejects) {
  trial_.times = {timing(12)};
  trial_.times[0].dishonest = {"work goes on"};
  const Verdict verdict = conclude({call(false), call(true)});
  EXPECT_EQ(contract(verdict, "honest").status, Status::failed);
  EXPECT_EQ(verdict.status, VerdictStatus::rejected);
}

TEST_F(OnGpu, FasterThanPhysicsRejects) {
  trial_.times = {timing(1e-6)};
  const Verdict verdict = conclude({call(false), call(true)});
  EXPECT_EQ(contract(verdict, "honest").status, Status::failed);
  EXPECT_THAT(verdict.findings.at(0).message, HasSubstr("less than physics allows"));
}

TEST_F(OnGpu, WrongOutputsOfATimedCallFailNumericsAndHonesty) {
  trial_.times = {timing(12)};
  const Verdict verdict = conclude({call(false), call(true, 3)});
  EXPECT_EQ(contract(verdict, "numerics").status, Status::failed);
  EXPECT_EQ(contract(verdict, "honest").status, Status::failed);
}

TEST_F(OnGpu, AFailedMeasurementLeavesNoTimeAndNoGoal) {
  task_.goal = task::Goal{};
  task_.goal->us = 1000;
  trial_.times = {timing(0)};
  trial_.times[0].failure = "it was slowed down";
  Verdict verdict = conclude({call(false)});
  EXPECT_FALSE(verdict.time);
  EXPECT_EQ(contract(verdict, "honest").status, Status::unknown);
  settle_goal(verdict, task_, {});
  EXPECT_EQ(contract(verdict, "goal").status, Status::unknown);
  EXPECT_EQ(verdict.status, VerdictStatus::error);
}

TEST_F(OnGpu, AnUnverifiedTimeIsNone) {
  trial_.times = {timing(12)};
  trial_.times[0].unverified = "the reference needs more than 20 s";
  const Verdict verdict = conclude({call(false)});
  EXPECT_EQ(contract(verdict, "honest").status, Status::unknown);
  EXPECT_FALSE(verdict.time);
}

TEST_F(OnGpu, SizesAreSummed) {
  trial::Timing small = timing(2), large = timing(30);
  small.conditions.sm_mhz = 1000;
  large.spread = 0.5;
  small.graph_us = 1;
  const TimeReport report = measured_time({small, large}, {});
  EXPECT_EQ(report.us, 32);
  EXPECT_EQ(report.spread, 0.5);
  EXPECT_EQ(report.conditions.sm_mhz, 1980);
  EXPECT_EQ(report.samples, 200u);
  EXPECT_EQ(report.graph_us, 0) << "a sum with parts missing";
}

}  // namespace
}  // namespace kforge::judge
