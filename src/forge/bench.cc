// `bench`: candidates as contestants of the rung time, without the rungs before it.
#include "kforge/bench.h"

#include <fmt/format.h>

#include "build/builder.h"
#include "forge/baselines.h"
#include "forge/target.h"
#include "judge/judge.h"
#include "kforge/plan.h"
#include "trial/time_candidates.h"

namespace kforge {
namespace {

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

}  // namespace

Expected<BenchReport> bench(const BenchOptions& options) {
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
  for (std::size_t i = 0; i < times.size(); ++i) {
    BenchRow row = row_of(times[i], where);
    const std::size_t place = i % (judges.size() + (options.beside.empty() ? 0 : 1));
    if (place < judges.size() && judges[place].rejected()) row.right = "wrong";
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace kforge
