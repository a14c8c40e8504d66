// One round: what is to be judged next, picked from all proposers.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "propose/proposer.h"

namespace kforge::forge {

using Proposers = std::vector<std::unique_ptr<propose::Proposer>>;

struct RoundOptions {
  std::size_t size = 6;
  std::size_t turn = 0;                          // of the round: which proposer comes first rotates with it
  const std::set<std::string>* known = nullptr;  // ids that the run has already
  // Gain to be expected of a move, after what such moves brought so far; below 1 it is tried last. May be empty.
  std::function<double(const Move&)> expectation;
};

// At most `size` new candidates. Each proposer has one place, in turn; the others go to what promises the least time, whoever proposes it: the time of
// the parent (of the first candidate, where it derives from nothing) over the gain that is expected. Of one proposer first come those that derive
// from the frontier or from nothing. Candidates that the run has, that are named twice, or that have no source are dropped; ids are
// computed, not believed.
std::vector<Candidate> pick_round(std::span<const std::unique_ptr<propose::Proposer>> proposers, const propose::Situation& situation, const RoundOptions& options);

}  // namespace kforge::forge
