// Sources of candidates. A proposer looks at the task, the plan and what has been tried, and answers with new candidates, best first;
// it builds, runs and judges nothing. The loop (forge/) asks each in turn and hands back what became of its candidates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/profile.h"
#include "hardware/data_sheet.h"
#include "kforge/candidate.h"
#include "kforge/plan.h"
#include "kforge/verdict.h"
#include "task/task.h"

namespace kforge::propose {

// What became of a candidate.
struct Tried {
  Candidate candidate;
  VerdictStatus status = VerdictStatus::error;
  double us = 0;                                   // of the task's measure sizes, summed; 0: no time (rejected by correctness)
  std::vector<Finding> findings;
  std::vector<ContractReport> contracts;
  std::vector<ResourceReport> resources;
  std::vector<evidence::KernelProfile> profiles;   // of the largest measure size; empty when it came from the store of another version
  double cost = 0;                                 // of building it, in a unit that does not depend on the machine's load; 0: not known
  bool screened = false;                           // it ran on sampled blocks alone, and its time there was not worth a proof
  const Verdict* verdict = nullptr;                // the whole of it, where the journal has it; valid for one call of a proposer
};

struct Situation {
  const task::Task& task;
  const hardware::DataSheet& sheet;
  const Plan& plan;
  std::span<const Tried> tried;                    // in order of verdict
  std::uint64_t seed = 1;
  // Ids of the candidates that are worth deriving from, best first: dead ends are left out, and so are those that have had their share of
  // children for now (progressive widening). Empty: nothing stands yet. A proposer that derives takes its parents from here.
  std::span<const std::string> frontier = {};
  // What judging a candidate will take beside one about which nothing is there: 1; less where its verdict or its build is. May be empty.
  std::function<double(const Candidate& candidate)> effort = {};
};

// A part of a line of moves undone: the line's first candidates without it. Those that follow, from `next` on, are to be made again.
struct TakenBack {
  std::string step;            // id of the line's candidate whose move it is, or a part of whose move
  std::string title;           // the move that is undone, as it was made: "vector 1 -> 4"
  std::string move, rule;      // its id and rule
  double expected_gain = 1;
  Candidate candidate;
  std::size_t next = 0;
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string_view name() const = 0;
  // At most `wanted` candidates whose ids are not among `tried`; fewer, or none, when it knows no more. Deterministic in the situation.
  virtual std::vector<Candidate> propose(const Situation& situation, std::size_t wanted) = 0;
  // For the ablation at a run's end: every part of `line` that is this proposer's and can be taken back by itself. `line` goes from the
  // first candidate to the winner.
  virtual std::vector<TakenBack> take_back([[maybe_unused]] const Situation& situation, [[maybe_unused]] std::span<const Candidate> line) { return {}; }
  // The move of `made`, which is this proposer's and was made on `was_on`, made on `on`; nothing when it does not apply there.
  virtual std::optional<Candidate> make_again([[maybe_unused]] const Situation& situation, [[maybe_unused]] const Candidate& on, [[maybe_unused]] const Candidate& made,
                                              [[maybe_unused]] const Candidate& was_on) {
    return std::nullopt;
  }
};

}  // namespace kforge::propose
