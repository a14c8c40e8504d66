// How the winner came about: one step for each successive best candidate, with what was seen before, the rule that answers it, the
// change and what it brought (requirements A9 and E5).
#pragma once

#include <optional>
#include <vector>

#include "kforge/knowledge.h"
#include "kforge/run.h"
#include "report/difference.h"

namespace kforge::report {

struct StoryStep {
  const TriedCandidate* tried = nullptr;
  const TriedCandidate* before = nullptr;        // the winner or baseline before it; null for the first
  bool descends = false;                         // made from `before`, in one move or several
  std::vector<const Finding*> answered;          // of `before`: those of the contract that the move answers; at most three
  std::optional<KnowledgeRule> rule;
  double expected_gain = 1, observed_gain = 0;   // 0: unknown
  Difference change;                             // from `before`
};
std::vector<StoryStep> story_of(const RunRecord& run);

}  // namespace kforge::report
