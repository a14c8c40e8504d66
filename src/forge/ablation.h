// What each move of the winner's line is worth: the winner without that one move, judged; where nobody can build that, the move's own
// parent stands for it ("before and after").
#pragma once

#include <string>
#include <vector>

#include "forge/journal.h"
#include "forge/round.h"
#include "store/rows.h"

namespace kforge::forge {

// From the first candidate to the one named.
std::vector<Candidate> line_of(const Journal& journal, const std::string& id);

struct Ablated {
  std::string taken_back;        // id of the line's candidate whose move is undone
  Candidate candidate;           // the winner without it; its parent is the winner
};
std::vector<Ablated> ablated_candidates(const Proposers& proposers, const propose::Situation& situation, const std::vector<Candidate>& line);

// One a move, in the order of the line. Moves whose factor nothing tells are left out.
std::vector<store::ContributionRow> contributions(const Journal& journal, const std::vector<Candidate>& line, const std::vector<Ablated>& ablated);

}  // namespace kforge::forge
