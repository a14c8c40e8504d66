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

namespace {

// The moves from `next` on, made again on `current` by whoever can.
std::optional<Candidate> made_again(const Proposers& proposers, const propose::Situation& situation, const std::vector<Candidate>& line, Candidate current, std::size_t next) {
  for (; next < line.size(); ++next) {
    std::optional<Candidate> made;
    for (const auto& proposer : proposers)
      if (!made) made = proposer->make_again(situation, current, line[next], line[next - 1]);
    if (!made) return std::nullopt;
    current = std::move(*made);
  }
  return current;
}

}  // namespace

std::vector<Ablated> ablated_candidates(const Proposers& proposers, const propose::Situation& situation, const std::vector<Candidate>& line) {
  std::vector<Ablated> out;
  for (const auto& proposer : proposers)
    for (propose::TakenBack& back : proposer->take_back(situation, line)) {
      const std::string base = identity(back.candidate.source, back.candidate.flags);
      auto candidate = made_again(proposers, situation, line, std::move(back.candidate), back.next);
      if (!candidate) continue;
      candidate->id = identity(candidate->source, candidate->flags);
      const auto step = std::find_if(line.begin(), line.end(), [&](const Candidate& c) { return c.id == back.step; });
      const bool whole = step != line.end() && step->move.title == back.title;
      // What followed undid it, or did not need it: then nothing was taken back. Of the last move its own parent is the winner without it.
      if (candidate->id == line.back().id || (back.next < line.size() ? candidate->id == base : whole)) continue;
      candidate->parent = line.back().id;
      candidate->move = {"ablation", fmt::format("without \"{}\"", back.title), back.move, back.rule, 1 / std::max(back.expected_gain, 1e-3)};
      out.push_back({back.step, whole ? "" : back.title, std::move(*candidate)});
    }
  return out;
}

std::vector<store::ContributionRow> contributions(const Journal& journal, const std::vector<Candidate>& line, const std::vector<Ablated>& ablated) {
  std::vector<store::ContributionRow> out;
  if (line.empty()) return out;
  const double winner = time_of(journal.find(line.back().id));
  for (std::size_t i = 0; i < line.size(); ++i) {
    bool known = false;
    std::vector<store::ContributionRow> parts;
    for (const Ablated& a : ablated) {
      const double without = a.taken_back == line[i].id ? time_of(journal.find(a.candidate.id)) : 0;
      if (winner <= 0 || without <= 0) continue;
      parts.push_back({line[i].id, a.candidate.id, without / winner, "ablation", a.title});
      known = known || a.title.empty();
    }
    const double before = i > 0 ? time_of(journal.find(line[i - 1].id)) : line[0].id == journal.row().baseline ? 0 : journal.baseline_us();
    const double after = time_of(journal.find(line[i].id));
    if (!known && before > 0 && after > 0) out.push_back({line[i].id, "", before / after, "before and after", ""});
    out.insert(out.end(), parts.begin(), parts.end());
  }
  return out;
}

}  // namespace kforge::forge
