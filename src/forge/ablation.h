// What each part of the winner's line is worth: the winner without it, judged. A part is a move, or one parameter of a template that is not
// at its default. Where nobody can build that, the move's own parent stands for it ("before and after").
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
  std::string taken_back;        // id of the line's candidate whose move, or a part of it, is undone
  std::string title;             // of what is undone, where it is a part of a move; else ""
  Candidate candidate;           // the winner without it; its parent is the winner
};
std::vector<Ablated> ablated_candidates(const Proposers& proposers, const propose::Situation& situation, const std::vector<Candidate>& line);

// In the order of the line, the parts of a move behind it. What nothing tells a factor of is left out.
std::vector<store::ContributionRow> contributions(const Journal& journal, const std::vector<Candidate>& line, const std::vector<Ablated>& ablated);

}  // namespace kforge::forge
