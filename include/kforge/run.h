// A run: one use of `optimize`, with everything that it tried. Read back from the store; reports and exports are made from it alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kforge/candidate.h"
#include "kforge/cost.h"
#include "kforge/error.h"
#include "kforge/plan.h"
#include "kforge/verdict.h"

namespace kforge {

struct TriedCandidate {
  Candidate candidate;
  Verdict verdict;             // its `time` is what ranks it
  double started_s = 0;        // since the run began
  double build_s = 0, judge_s = 0;
  bool reused = false;         // the verdict came from the store
  double observed_gain = 0;    // over the parent; 0: unknown
};

// One move of the winner's line taken back: how much slower is the winner without it.
struct Contribution {
  Move move;
  std::string candidate;       // id of the ablated candidate; "" when the step's own parent stands for it
  double factor = 1;           // time without over time with
  std::string how;             // "ablation", "before and after"
};

struct RunRecord {
  std::string id;              // short, sortable: "20260301-101500-softmax-1a2b"
  std::string task_path, task_name, task_text, gpu, device;
  std::string version;         // of Kernel Forge
  std::string toolkit;         // "13.0.88"
  std::string started;         // ISO 8601, UTC
  double seconds = 0;          // so far, interruptions left out
  std::uint64_t seed = 1;
  std::string outcome;         // running goal budget stagnation exhausted interrupted failed
  std::string outcome_why;     // one sentence
  bool goal_met = false;
  Plan plan;
  std::vector<TriedCandidate> tried;   // in order of verdict
  std::string baseline;        // id of the naive or given kernel, or ""
  std::string winner;          // id, or "" while nothing is accepted
  std::string best;            // id of what is delivered: the winner, else the best right candidate that is not accepted, or ""
  std::vector<std::string> winners;    // ids of successive best right ones, in order; the early ones may fail a goal that the last meets
  std::vector<Contribution> contributions;
  double program_total_us = 0, program_share = 0;  // [program] of the task; 0: not stated
  std::map<std::string, std::string> dead_ends;    // id -> why nothing more is derived from it
  std::vector<StageCost> costs;        // where its time went, "rest" included; empty when it was not noted
  std::string folder;          // of the run's files: winner.cu is what `best` names, byte for byte

  const TriedCandidate* find(const std::string& candidate_id) const;
};

// What a run wrote down as it went: verdicts, failed verifications, its outcome.
struct RunEvent {
  double at_s = 0;             // since the run began, interruptions left out
  std::string kind, text;
};

// `kforge runs`
struct RunSummary {
  std::string id, task_name, gpu, started, outcome;
  std::uint64_t candidates = 0, accepted = 0;
  double best_us = 0, baseline_us = 0, seconds = 0;
};

// The store: `folder`, else $KFORGE_STORE, else .kforge/store in the current folder. Errors: missing (no such store or run), failed.
Expected<std::vector<RunSummary>> list_runs(const std::string& folder);
// `id`: whole, a unique prefix, or "last".
Expected<RunRecord> load_run(const std::string& folder, const std::string& id);
// The run's steps, in order.
Expected<std::vector<RunEvent>> load_events(const std::string& folder, const std::string& id);
// The exchanges with language models as a record (schema kforge.llm-record/1) that `--llm replay:FILE` goes through again. Errors: missing (none, or no such run).
Expected<std::string> message_record(const std::string& folder, const std::string& id);
// What can be learnt from a run: one JSON document a line (schema kforge.training/1) for every judged candidate with its source, PTX,
// profile, bottleneck, move, outcome and reward; right but slow ones and wrong ones included.
Expected<std::string> training_records(const std::string& folder, const std::string& id);

}  // namespace kforge
