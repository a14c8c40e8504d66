#include "forge/ablation.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace kforge::forge {
namespace {

// Time of a right candidate; 0: unknown.
double time_of(const Entry* entry) { return entry && entry->judged && entry->standing.right() ? entry->standing.us : 0; }

}  // namespace

std::vector<Candidate> line_of(const Journal& journal, const std::string& id) {
  std::vector<Candidate> line;
  std::set<std::string> seen;
  for (const Entry* entry = journal.find(id); entry && seen.insert(entry->candidate.id).second; entry = journal.find(entry->candidate.parent))
    line.push_back(entry->candidate);
  std::reverse(line.begin(), line.end());
  return line;
}

std::vector<Ablated> ablated_candidates(const Proposers& proposers, const propose::Situation& situation, const std::vector<Candidate>& line) {
  std::vector<Ablated> out;
  for (std::size_t i = 1; i + 1 < line.size(); ++i) {   // the last move's own parent is the winner without it
    for (const auto& proposer : proposers) {
      auto candidate = proposer->without(situation, line, line[i]);
      if (!candidate) continue;
      candidate->id = identity(candidate->source, candidate->flags);
      candidate->parent = line.back().id;
      candidate->move = {"ablation", fmt::format("without \"{}\"", line[i].move.title), line[i].move.id, line[i].move.rule, 1 / std::max(line[i].move.expected_gain, 1e-3)};
      out.push_back({line[i].id, std::move(*candidate)});
      break;
    }
  }
  return out;
}

std::vector<store::ContributionRow> contributions(const Journal& journal, const std::vector<Candidate>& line, const std::vector<Ablated>& ablated) {
  std::vector<store::ContributionRow> out;
  if (line.empty()) return out;
  const double winner = time_of(journal.find(line.back().id));
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto found = std::find_if(ablated.begin(), ablated.end(), [&](const Ablated& a) { return a.taken_back == line[i].id; });
    const double without = found == ablated.end() ? 0 : time_of(journal.find(found->candidate.id));
    if (winner > 0 && without > 0) {
      out.push_back({line[i].id, found->candidate.id, without / winner, "ablation"});
      continue;
    }
    const double before = i > 0 ? time_of(journal.find(line[i - 1].id)) : line[0].id == journal.row().baseline ? 0 : journal.baseline_us();
    const double after = time_of(journal.find(line[i].id));
    if (before > 0 && after > 0) out.push_back({line[i].id, "", before / after, "before and after"});
  }
  return out;
}

}  // namespace kforge::forge
