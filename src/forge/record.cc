// A run's record, read back from the store alone.
#include <algorithm>

#include "base/text.h"
#include "forge/journal.h"
#include "forge/run_costs.h"
#include "store/word_list.h"

namespace kforge::forge {
namespace {

TriedCandidate tried_of(const Entry& entry) {
  TriedCandidate out;
  out.candidate = entry.candidate;
  out.verdict = entry.verdict;
  out.started_s = entry.started_s;
  out.build_s = entry.build_s;
  out.judge_s = entry.judge_s;
  out.reused = entry.reused;
  out.observed_gain = entry.observed_gain;
  return out;
}

}  // namespace

std::vector<std::string> successive_best(const std::deque<Entry>& entries) {
  std::vector<std::string> out;
  const Entry* best = nullptr;
  for (const Entry& entry : entries) {
    if (!entry.judged || !entry.standing.right() || entry.standing.us <= 0 || (best && !better(entry.standing, best->standing))) continue;
    best = &entry;
    out.push_back(entry.candidate.id);
  }
  return out;
}

Expected<RunRecord> record_of(store::Store& store, const store::RunRow& row) {
  auto journal = Journal::reopen(store, row);
  if (!journal) return Unexpected(journal.error());
  RunRecord out;
  out.id = row.id;
  out.task_path = row.task_path;
  out.task_name = row.task_name;
  out.task_text = row.task_text;
  out.gpu = row.gpu;
  out.device = row.device;
  out.version = row.version;
  out.toolkit = row.toolkit;
  out.started = row.started;
  out.seconds = row.seconds;
  out.seed = row.seed;
  out.outcome = row.outcome;
  out.outcome_why = row.outcome_why;
  out.goal_met = row.goal_met;
  out.plan = journal->plan();
  for (const Entry& entry : journal->entries())
    if (entry.judged) out.tried.push_back(tried_of(entry));
  out.baseline = row.baseline;
  out.winner = row.winner;
  out.best = row.best;
  out.winners = successive_best(journal->entries());
  const auto contributions = store.contributions(row.id);
  if (!contributions) return Unexpected(contributions.error());
  for (const store::ContributionRow& c : *contributions) {
    const Entry* entry = journal->find(c.candidate);
    if (!entry) continue;
    Contribution& contribution = out.contributions.emplace_back(Contribution{entry->candidate.move, c.ablated, c.factor, c.how});
    if (!c.title.empty()) contribution.move.title = c.title;
  }
  const auto dead_ends = store.dead_ends(row.id);
  if (!dead_ends) return Unexpected(dead_ends.error());
  for (const store::DeadEndRow& end : *dead_ends) out.dead_ends[end.candidate] = end.why;
  out.folder = store.run_folder(row.id).string();
  out.costs = costs_of(row);
  const auto share = store::from_word_list(row.summary);
  if (share.size() >= 6) {
    out.program_total_us = parse_double(share[4]).value_or(0);
    out.program_share = parse_double(share[5]).value_or(0);
  }
  return out;
}

}  // namespace kforge::forge
