#include "forge/round.h"

#include <algorithm>
#include <deque>

namespace kforge::forge {
namespace {

// 0 derives from the frontier or from nothing; 1 from elsewhere; 2 such moves have lost so far.
int queue_of(const Candidate& candidate, const propose::Situation& situation, const RoundOptions& options) {
  if (options.expectation && options.expectation(candidate.move) < 1) return 2;
  const auto& frontier = situation.frontier;
  return candidate.parent.empty() || std::find(frontier.begin(), frontier.end(), candidate.parent) != frontier.end() ? 0 : 1;
}

std::deque<Candidate> offers_of(propose::Proposer& proposer, const propose::Situation& situation, const RoundOptions& options) {
  std::vector<Candidate> offers = proposer.propose(situation, options.size);
  for (Candidate& candidate : offers) candidate.id = identity(candidate.source, candidate.flags);
  std::erase_if(offers, [&](const Candidate& c) { return c.source.empty() || (options.known && options.known->count(c.id) > 0); });
  std::stable_sort(offers.begin(), offers.end(),
                   [&](const Candidate& a, const Candidate& b) { return queue_of(a, situation, options) < queue_of(b, situation, options); });
  return {offers.begin(), offers.end()};
}

}  // namespace

std::vector<Candidate> pick_round(std::span<const std::unique_ptr<propose::Proposer>> proposers, const propose::Situation& situation, const RoundOptions& options) {
  std::vector<std::deque<Candidate>> offers;
  for (std::size_t i = 0; i < proposers.size(); ++i) offers.push_back(offers_of(*proposers[(i + options.turn) % proposers.size()], situation, options));
  std::vector<Candidate> picked;
  std::set<std::string> ids;
  for (bool any = true; any && picked.size() < options.size;) {
    any = false;
    for (auto& queue : offers) {
      while (!queue.empty() && ids.count(queue.front().id) > 0) queue.pop_front();
      if (queue.empty() || picked.size() >= options.size) continue;
      ids.insert(queue.front().id);
      picked.push_back(std::move(queue.front()));
      queue.pop_front();
      any = true;
    }
  }
  return picked;
}

}  // namespace kforge::forge
