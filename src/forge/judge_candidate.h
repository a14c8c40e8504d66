// One candidate through the rungs to its verdict, with the evidence that the forge feeds back: what `check` and `optimize` both do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "build/builder.h"
#include "evidence/profile.h"
#include "hardware/data_sheet.h"
#include "judge/goal.h"
#include "kforge/verdict.h"
#include "task/task.h"
#include "trial/trial.h"

namespace kforge::forge {

// Asked after a build: the id of a candidate that is known to be the same machine code behind the same host code, or "".
using FindTwin = std::function<std::string(std::string_view ptx, std::span<const build::KernelReport> kernels)>;

struct JudgeRequest {
  const task::Task* task = nullptr;
  const hardware::DataSheet* sheet = nullptr;
  std::string sheet_name;                // as TrialRequest
  std::string candidate;                 // path of the .cu
  std::vector<std::string> flags;        // of the candidate, added to the task's
  bool only_correctness = false;
  bool sampled_only = false;             // the measure sizes on a few sampled blocks: a time, and nothing proven
  bool stop_early = false;               // after the first call that rejects the candidate for sure, the remaining cases are skipped
  std::uint64_t seed = 1;
  std::uint64_t fresh_seed = 0;          // as TrialRequest; 0: drawn
  bool known_inputs = false;             // those of `seed` alone: a search that is to go the same way twice; what it finds is judged again on fresh ones
  trial::Defences defences;
  trial::Budget budget;
  std::optional<trial::GpuOptions> gpu;  // also run and time it there
  std::optional<trial::GpuOptions> glance_gpu;   // glance_at_candidate looks there first; nothing: at `gpu`
  std::string toolkit;                   // version of the CUDA compiler, for the record of a time
  trial::TimeOptions time;
  bool sanitize = false, counters = false;   // as TrialRequest
  std::vector<trial::Baseline> baselines;   // timed in turns with it
  std::vector<std::string> warnings;     // of the device, listed under `unproven`
  judge::GoalFigures goal;               // what the task's goal is compared with; the time is filled in here
  std::function<void(std::string_view)> progress;   // one line a step; may be empty
  FindTwin twin;                         // a candidate that has one is built, and no more; may be empty
  std::function<bool()> cancelled;       // asked between calls: true ends the trial with the error `limit`; may be empty
  build::CompileServer* compile_server = nullptr;   // as CandidateRequest; may be null
  trial::PreparedStore* prepared = nullptr;         // as TrialRequest; may be null
  CostLedger* costs = nullptr;           // takes what this used; may be null
};

struct Judgement {
  Verdict verdict;
  std::vector<evidence::KernelProfile> profiles;   // of the largest measure size that ran
  std::vector<trial::CounterProfile> counters;     // by measure size, where ncu read them
  std::string ptx;                                 // "" when it did not build
  std::string twin;                                // whose verdict holds for this one, too: here is none then
  double build_s = 0, judge_s = 0;
};

// Errors: bad_input (a task whose check cannot fail), limit (cancelled), missing, unsupported, failed.
Expected<Judgement> judge_candidate(const JudgeRequest& request);

// What the task's goal compares with: the floor of physics, and the time of each .cu file that it names, which is judged for it. Empty
// without a goal. Errors: as judge_candidate; bad_input when such a file is no right kernel.
Expected<judge::GoalFigures> goal_figures(const JudgeRequest& request, double floor_us);

}  // namespace kforge::forge
