// Look-ups in a run's record.
#include "kforge/run.h"

#include <algorithm>

namespace kforge {

const TriedCandidate* RunRecord::find(const std::string& candidate_id) const {
  const auto found = std::find_if(tried.begin(), tried.end(), [&](const TriedCandidate& t) { return t.candidate.id == candidate_id; });
  return found == tried.end() ? nullptr : &*found;
}

}  // namespace kforge
