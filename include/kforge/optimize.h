// Forges a kernel: `kforge optimize` as a function. Plan, propose, build, judge, diagnose, repeat; everything is in the store before
// the next step starts, so that a killed run resumes where it was.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kforge/error.h"
#include "kforge/run.h"

namespace kforge {

// Exhaustion of any of them is a named outcome, not an error.
struct OptimizeBudget {
  double seconds = 170;
  std::uint64_t candidates = 60;
  std::uint64_t stagnation = 16;   // judged candidates without a better winner
};

struct Progress {
  std::string step;              // "planning", "judging", "ablation", ...
  std::uint64_t candidates = 0, accepted = 0;
  double best_us = 0, baseline_us = 0, floor_us = 0;
  std::string best;              // its move's title
  std::string bottleneck;        // of the best one, in plain words
  double seconds = 0, budget_seconds = 0;
};

// A round before it is judged, for a person to look at and to change: the files are read again afterwards.
struct Review {
  std::string run;
  std::uint64_t round = 0;
  std::string plan;                      // path of the plan (TOML)
  std::vector<std::string> candidates;   // paths; a changed one is tried in place of the proposed one, a removed one is not tried
  std::string problem;                   // why the edited files could not be taken, when it is asked again; ""
};
enum class ReviewAnswer : std::uint8_t { go_on, stop };

struct OptimizeOptions {
  std::string task;              // path
  std::string from;              // a slow kernel to start from; "": the task's naive.cu where there is one
  std::string plan;              // an edited plan; ""
  bool templates = true;         // false: the plan's templates are switched off, so that the winner descends from the start
  std::string gpu;               // "": the task's
  std::string device;            // as CheckOptions; a resumed run goes on where it was
  std::string store;             // "": as load_run
  std::string resume;            // id of a run to go on with; "". Task, GPU, plan and seed are then the run's, and each budget that
                                 // stands at its default
  OptimizeBudget budget;
  std::uint64_t seed = 1;
  std::uint64_t jobs = 0;        // candidates built and judged at once; 0: one a core
  std::function<void(const Progress&)> progress;   // called from one thread at a time
  std::function<bool()> interrupted;     // asked often, from several threads: true ends the run cleanly, to be resumed; may be empty
  std::function<ReviewAnswer(const Review&)> review;   // between proposing and judging a round; may be empty
};

// The finished run. Errors: bad_input (call, task, plan), missing, failed. A goal that was not met is no error: see outcome.
Expected<RunRecord> optimize(const OptimizeOptions& options);

}  // namespace kforge
