// Made-up evidence of a right candidate, and the fixture that has it judged, for tests of the verdict.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "judge/judge.h"

namespace kforge::judge {

inline task::Task copy_task() {
  task::Task task;
  task.name = "double";
  task.path = "task.toml";
  task.function = "twice";
  task.tensors.push_back({"x", task::Dtype::f32, {"n"}, {}, task::Role::in, {}});
  task.tensors.push_back({"y", task::Dtype::f32, {"n"}, {}, task::Role::out, {}});
  task.measure.push_back({{"n", 64}});
  return task;
}

inline hardware::DataSheet sheet() {
  auto found = hardware::find_sheet("h200");
  return found.value();
}

inline std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline evidence::KernelProfile clean_profile() {
  using evidence::Metric;
  evidence::KernelProfile kernel;
  kernel.kernel = "_Z5twicePKfPf";
  kernel.launch_count = 1;
  kernel.launches.push_back({{1, 1, 1}, {64, 1, 1}, 0, 0});
  evidence::LineProfile line;
  line.position.frames.push_back({"twice.cu", 7, 3, ""});
  line.counters[Metric::inst_executed] = 20;
  line.counters[Metric::thread_inst_executed] = 640;
  line.counters[Metric::global_requests] = 4;
  line.counters[Metric::global_sectors] = 16;
  line.counters[Metric::global_sectors_ideal] = 16;
  line.counters[Metric::global_sectors_aligned_ideal] = 16;
  line.counters[Metric::global_load_bytes] = 256;
  line.counters[Metric::global_store_bytes] = 256;
  kernel.totals = line.counters;
  line.stores.push_back({"y", 0, 256, 256, {}});
  kernel.lines.push_back(line);
  return kernel;
}

inline void change(trial::SharedList<double>& list, std::size_t i, double by) {
  std::vector<double> values(list.begin(), list.end());
  values[i] += by;
  list = std::move(values);
}

inline trial::CallEvidence good_call(bool measure) {
  trial::CallEvidence call;
  call.run.sizes = {{"n", 64}};
  call.run.label = "n=64";
  call.run.measure = measure;
  call.completed = true;
  std::vector<float> x, y;
  std::vector<double> reference;
  trial::Output output{"y", {}, {}, {}};
  for (int i = 0; i < 64; ++i) {
    x.push_back(static_cast<float>(i % 7) - 3.5f);
    y.push_back(2 * x.back());
    reference.push_back(2.0 * x.back());
  }
  output.reference = reference;
  output.bytes = bytes_of(y);
  call.outputs.push_back(output);
  call.inputs.push_back(bytes_of(x));
  call.log.kernels.push_back(clean_profile());
  call.log.coverage.push_back({"y", 64, 0, 0, 0});
  return call;
}

inline trial::TrialResult good_trial() {
  trial::TrialResult trial;
  trial.artefact.ok = true;
  trial.artefact.kernels.push_back({"_Z5twicePKfPf", 16, 0, 0, 0, 0, 0, 0});
  return trial;
}

inline evidence::Violation violation(const std::string& contract, std::uint32_t line) {
  evidence::Violation v;
  v.contract = contract;
  v.message = "something happened";
  v.where.frames.push_back({"/usr/include/cuda.h", 99, 1, "helper"});
  v.where.frames.push_back({"twice.cu", line, 5, ""});
  return v;
}

class Judging : public testing::Test {
 protected:
  Verdict conclude(const std::vector<trial::CallEvidence>& calls, bool only_correctness = false) {
    Judge judge(task_, sheet_, {"twice.cu", only_correctness});
    for (const trial::CallEvidence& call : calls) judge.see(call);
    auto verdict = judge.conclude(trial_);
    EXPECT_TRUE(verdict) << to_string(verdict.error());
    return verdict.value_or(Verdict{});
  }
  const ContractReport& contract(const Verdict& verdict, std::string_view id) {
    for (const ContractReport& c : verdict.contracts)
      if (c.id == id) return c;
    throw std::logic_error("no such contract");
  }
  std::vector<std::string> failed(const Verdict& verdict) {
    std::vector<std::string> ids;
    for (const ContractReport& c : verdict.contracts)
      if (c.status == Status::failed) ids.push_back(c.id);
    return ids;
  }

  task::Task task_ = copy_task();
  hardware::DataSheet sheet_ = sheet();
  trial::TrialResult trial_ = good_trial();
};

}  // namespace kforge::judge
