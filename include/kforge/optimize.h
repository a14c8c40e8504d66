// Forges a kernel: `kforge optimize` as a function. Plan, propose, build, judge, diagnose, repeat; everything is in the store before
// the next step starts, so that a killed run resumes where it was.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
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
  std::string not_judged;        // while there is none: why the latest candidate could not be judged to its end; ""
  double seconds = 0, budget_seconds = 0;
};

// What a person may look at and change: the files are read again afterwards. A round before it is judged, or a prompt before a model is asked.
struct Review {
  std::string run;
  std::uint64_t round = 0;
  std::string plan;                      // path of the plan (TOML); "" when it is not asked for
  std::vector<std::string> candidates;   // paths; a changed one is tried in place of the proposed one, a removed one is not tried
  std::vector<std::string> parents;      // beside each candidate: a file with what it was made from, or ""
  std::string prompt;                    // path of the feedback that a model is to get; ""
  std::string problem;                   // why the edited files could not be taken, when it is asked again; ""
};
struct ReviewAnswer {
  bool stop = false;
  std::string note;                      // for the journal; ""
};
struct ReviewKinds {                     // what a person wants to see
  bool plan = true, candidate = true, feedback = false;
};

// A language model that proposes kernels beside the other proposers (docs/models.md).
struct ModelOptions {
  std::string spec;              // "anthropic:MODEL", "manual:FOLDER", ...; "": none
  std::string url;               // of the server; "": the provider's own
  std::string key_file;          // of mode 0600; "": the provider's environment variable
  std::string effort;            // low, medium, high: how much it is to think; ""
  std::string tools;             // on, off; "": as the provider usually can
  std::string from_gpu;          // the start was written for this GPU and is to be ported
  std::uint64_t tokens = 0;      // in and out, of the run; 0: no limit
  double money = 0;              // US dollars; 0: no limit
  std::uint64_t prompt_tokens = 24'000, answer_tokens = 16'384;   // of one prompt, of one answer
  std::uint64_t at_once = 1;     // moves a round
  bool bare_feedback = false;    // tell it only whether a kernel builds, how wrong it is, and its time
  std::vector<std::string> context;      // folders of documents and code to cite from
};

struct OptimizeOptions {
  std::string task;              // path
  std::string from;              // a slow kernel to start from; "": the task's naive.cu where there is one
  std::string plan;              // an edited plan; ""
  ModelOptions model;
  std::vector<std::string> proposers;    // of template, transform, sweep, model; empty: all
  bool templates = true;         // false: the plan's templates are switched off, so that the winner descends from the start
  std::string gpu;               // "": the task's
  std::string device;            // as CheckOptions; a resumed run goes on where it was
  std::string store;             // "": as load_run
  std::string output;            // path of a file that is to have the winner, too; kept with the run, for kept_output
  std::string resume;            // id of a run to go on with; "". Task, GPU, plan and seed are then the run's, and each budget that
                                 // stands at its default
  OptimizeBudget budget;
  std::uint64_t seed = 1;
  std::uint64_t fresh_seed = 0;  // of the inputs that winners are proven on; 0: drawn anew
  std::uint64_t jobs = 0;        // candidates built and judged at once; 0: one a core
  std::function<void(const Progress&)> progress;   // called from one thread at a time
  std::function<bool()> interrupted;     // asked often, from several threads: true ends the run cleanly, to be resumed; may be empty
  std::function<ReviewAnswer(const Review&)> review;   // between proposing and judging a round, and before a model is asked; may be empty
  ReviewKinds review_kinds;
  std::function<void(std::string_view)> told;          // what the model's provider says while it is waited for; may be empty
};

// The providers that ModelOptions::spec may name: "anthropic:MODEL        Anthropic's Messages API", a line each.
std::vector<std::string> model_providers();

// The finished run. Errors: bad_input (call, task, plan), missing, failed. A goal that was not met is no error: see outcome.
Expected<RunRecord> optimize(const OptimizeOptions& options);

// Where the run's caller wants its winner, too: OptimizeOptions::output of its first call, "" for nowhere. Errors: missing (no such run).
Expected<std::string> kept_output(const std::string& store, const std::string& run);

}  // namespace kforge
