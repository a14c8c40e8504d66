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

// 0 where no time is known: what nobody knows is tried first.
double promised_us(const Candidate& candidate, const propose::Situation& situation, const RoundOptions& options) {
  const auto parent = std::find_if(situation.tried.begin(), situation.tried.end(), [&](const propose::Tried& t) { return t.candidate.id == candidate.parent; });
  const double base = parent != situation.tried.end() ? parent->us : situation.tried.empty() ? 0 : situation.tried.front().us;
  const double gain = options.expectation ? options.expectation(candidate.move) : candidate.move.expected_gain;
  return base / std::max(gain, 1e-3);
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
  const auto next_of = [&](std::deque<Candidate>& queue) -> const Candidate* {
    while (!queue.empty() && ids.count(queue.front().id) > 0) queue.pop_front();
    return queue.empty() || picked.size() >= options.size ? nullptr : &queue.front();
  };
  const auto pick = [&](std::deque<Candidate>& queue) {
    ids.insert(queue.front().id);
    picked.push_back(std::move(queue.front()));
    queue.pop_front();
  };
  for (auto& queue : offers)
    if (next_of(queue)) pick(queue);
  for (;;) {
    std::deque<Candidate>* best = nullptr;
    double least = 0;
    for (auto& queue : offers) {
      const Candidate* next = next_of(queue);
      const double own = next ? promised_us(*next, situation, options) : 0;
      if (next && (!best || own < least)) best = &queue, least = own;
    }
    if (!best) return picked;
    pick(*best);
  }
}

}  // namespace kforge::forge
