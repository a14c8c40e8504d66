// Sources of candidates. A proposer looks at the task, the plan and what has been tried, and answers with new candidates, best first;
// it builds, runs and judges nothing. The loop (forge/) asks each in turn and hands back what became of its candidates.
#pragma once

#include <cstddef>
#include <cstdint>
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
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string_view name() const = 0;
  // At most `wanted` candidates whose ids are not among `tried`; fewer, or none, when it knows no more. Deterministic in the situation.
  virtual std::vector<Candidate> propose(const Situation& situation, std::size_t wanted) = 0;
  // `winner` with the one move `taken_back` of its line undone and all others kept, for the ablation at a run's end; nothing when
  // this proposer cannot build that (then the move's own parent stands for it). `line` goes from the first candidate to the winner.
  virtual std::optional<Candidate> without([[maybe_unused]] const Situation& situation, [[maybe_unused]] std::span<const Candidate> line,
                                           [[maybe_unused]] const Candidate& taken_back) {
    return std::nullopt;
  }
};

}  // namespace kforge::propose
