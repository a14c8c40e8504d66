// `bench`: candidates as contestants of the rung time, without the rungs before it.
#include "kforge/bench.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "build/builder.h"
#include "forge/baselines.h"
#include "forge/ceilings.h"
#include "forge/target.h"
#include "judge/judge.h"
#include "kforge/plan.h"
#include "trial/time_candidates.h"

namespace kforge {
namespace {

bool is_product(const BenchOptions& options) {
  return std::any_of(options.baselines.begin(), options.baselines.end(), [](const std::string& word) { return word.starts_with("cublas"); });
}

BenchRow row_of(const trial::TimedContestant& timed, const TimeConditions& where) {
  const trial::Timing& timing = timed.timing;
  BenchRow row;
  row.candidate = timing.name;
  row.sizes = timing.label;
  row.us = timing.us;
  row.p99_us = timing.p99_us;
  row.spread = timing.spread;
  row.interval = timing.interval;
  row.first_call_us = timing.first_call_us;
  row.launch_us = timing.launch_us;
  row.graph_us = timing.graph_us;
  row.back_to_back_us = timing.back_to_back_us;
  row.fresh_us = timing.fresh_us;
  row.empty_us = timing.empty_us;
  row.host_bound = timing.host_bound;
  row.witnessed = timing.witnessed;
  row.samples = timing.samples;
  row.discarded = timing.discarded;
  row.verified = timing.verified;
  row.conditions = where;
  row.conditions.sm_mhz = timing.conditions.sm_mhz;
  row.conditions.memory_mhz = timing.conditions.memory_mhz;
  row.conditions.temperature_c = timing.conditions.temperature_c;
  row.conditions.power_w = timing.conditions.power_w;
  row.conditions.power_capped = timing.conditions.power_capped;
  const trial::Activity& seen = timed.activity;
  row.activity = {seen.trouble, seen.kernels, seen.streams, seen.copies, seen.host_copies, seen.copied_bytes, seen.fills, seen.names};
  row.failure = timing.failure;
  row.dishonest = timing.dishonest;
  row.right = !timing.unverified.empty() ? timing.unverified : timing.verified == 0 ? "not compared" : "right";
  return row;
}

// The name by which a GPU is asked for again: "gpu" is the first.
std::string device_word(const std::string& asked, const trial::GpuOptions& gpu) { return asked.find(':') == std::string::npos ? fmt::format("gpu:{}", gpu.device.index) : asked; }

Expected<BenchReport> bench_on(const BenchOptions& options) {
  auto task = task::read_task(options.task);
  if (!task) return Unexpected(task.error());
  task->goal.reset();
  const auto target = forge::open_target(options.gpu.empty() ? task->gpu : options.gpu, options.device.empty() ? "gpu" : options.device);
  if (!target) return Unexpected(target.error());
  if (!target->gpu) return fail(ErrorCode::bad_input, "bench needs a real GPU: times of the emulated one are modelled", {}, "kforge check gives a modelled time");

  trial::TrialRequest trial;
  trial.task = &*task;
  trial.sheet = target->sheet;
  trial.sheet_name = target->sheet_name;
  trial.gpu = target->gpu;
  trial.defences = target->defences;
  trial.time = {true, options.seconds, trial::TimeOptions{}.interval, options.warm};
  trial.progress = options.progress;
  for (const std::string& candidate : options.candidates) trial.baselines.push_back({candidate, candidate, false, {}, {}, true});
  if (!options.baselines.empty()) {
    const auto planned = plan(options.task, target->sheet_name);
    if (!planned) return Unexpected(planned.error());
    for (const std::string& word : options.baselines) {
      auto made = forge::library_baseline(word, *task, planned->guess.pattern);
      if (!made) return Unexpected(made.error());
      made->optional = false;
      trial.baselines.push_back(std::move(*made));
    }
  }
  if (trial.baselines.empty()) return fail(ErrorCode::bad_input, "there is nothing to time", {}, "kforge bench TASK.toml CANDIDATE.cu...");

  const TimeConditions where{target->gpu->device.name, target->gpu->driver_version, target->toolkit, 0, 0, 0, 0, false};
  std::vector<judge::Judge> judges;
  for (const trial::Baseline& one : trial.baselines) judges.emplace_back(*task, target->sheet, judge::JudgeOptions{one.name, true, true, where, target->defences});
  const auto timed = trial::time_sources(trial, options.beside, [&](std::size_t contestant, const trial::CallEvidence& call) { judges[contestant].see(call); });
  if (!timed) return Unexpected(timed.error());
  const auto& times = timed->times;

  BenchReport out;
  out.task = task->name;
  out.gpu = target->sheet.name;
  out.warm = options.warm;
  out.warnings = target->warnings;
  out.copy_bytes_per_s = timed->copy_bytes_per_s;
  out.sheet_bytes_per_s = target->sheet.dram_bytes_per_s;
  const bool product = is_product(options) && forge::bound_by_matrix_rate(*task, "gemm");
  if (product) out.matrix_flops = forge::measure_matrix_flops(trial);
  out.sheet_matrix_flops = 1e12 * target->sheet.quoted_f16_tensor_tflops;
  out.devices = {{device_word(options.device, *target->gpu), out.copy_bytes_per_s, out.matrix_flops}};
  for (std::size_t i = 0; i < times.size(); ++i) {
    BenchRow row = row_of(times[i], where);
    const std::size_t place = i % (judges.size() + (options.beside.empty() ? 0 : 1));
    if (place < judges.size() && judges[place].rejected()) row.right = "wrong";
    if (row.us > 0) row.of_roofline = forge::ceiling_us(*task, times[i].timing.sizes, {out.copy_bytes_per_s, out.matrix_flops, {}}, product) / row.us;
    row.device = out.devices.front().device;
    out.rows.push_back(std::move(row));
  }
  return out;
}

// Each GPU's part: the first candidate, with which others are compared, and every so many-th of the others. GPUs for which none is left stay out.
std::vector<BenchOptions> parts_of(const BenchOptions& options, const std::vector<std::string>& devices) {
  const auto& all = options.candidates;
  const std::size_t parts = std::clamp<std::size_t>(all.empty() ? 1 : all.size() - 1, 1, devices.size());
  std::vector<BenchOptions> out(parts, options);
  for (std::size_t p = 0; p < parts; ++p) {
    out[p].device = devices[p];
    out[p].candidates.clear();
    if (!all.empty()) out[p].candidates.push_back(all.front());
    for (std::size_t i = 1 + p; i < all.size(); i += parts) out[p].candidates.push_back(all[i]);
  }
  return out;
}

BenchReport joined(std::vector<BenchReport> parts) {
  BenchReport out = parts.front();
  std::vector<std::string> sizes;
  for (const BenchRow& row : out.rows)
    if (sizes.empty() || sizes.back() != row.sizes) sizes.push_back(row.sizes);
  out.rows.clear();
  for (const std::string& size : sizes)
    for (const BenchReport& part : parts) std::copy_if(part.rows.begin(), part.rows.end(), std::back_inserter(out.rows), [&](const BenchRow& row) { return row.sizes == size; });
  for (std::size_t p = 1; p < parts.size(); ++p) {
    out.devices.insert(out.devices.end(), parts[p].devices.begin(), parts[p].devices.end());
    for (const std::string& warning : parts[p].warnings)
      if (std::find(out.warnings.begin(), out.warnings.end(), warning) == out.warnings.end()) out.warnings.push_back(warning);
  }
  return out;
}

}  // namespace

Expected<BenchReport> bench(const BenchOptions& options) {
  const auto devices = forge::device_words(options.device);
  if (!devices) return Unexpected(devices.error());
  if (devices->size() == 1) {
    BenchOptions one = options;
    one.device = devices->front();
    return bench_on(one);
  }
  if (!options.beside.empty()) return fail(ErrorCode::bad_input, "a loop beside the candidates looks at one GPU", {}, "--device gpu:N");
  std::vector<BenchOptions> parts = parts_of(options, *devices);
  std::mutex speaking;
  for (BenchOptions& part : parts)
    part.progress = [&, device = part.device](std::string_view text) {
      const std::lock_guard lock(speaking);
      if (options.progress) options.progress(fmt::format("{} {}", device, text));
    };
  std::vector<std::optional<Expected<BenchReport>>> made(parts.size());
  std::vector<std::thread> threads;
  for (std::size_t p = 0; p < parts.size(); ++p) threads.emplace_back([&, p] { made[p] = bench_on(parts[p]); });
  for (std::thread& thread : threads) thread.join();
  std::vector<BenchReport> reports;
  for (auto& one : made) {
    if (!*one) return Unexpected(one->error());
    reports.push_back(std::move(**one));
  }
  return joined(std::move(reports));
}

}  // namespace kforge
