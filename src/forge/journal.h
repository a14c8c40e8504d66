// A run as it grows: in memory what the search looks at, and in the store, before the next step starts, what a killed run needs to go on.
//
// Entries are in the order of the run: by round, then by place in the round, whatever the order in which verdicts arrived; so a
// resumed run sees what the killed one saw. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forge/judge_candidate.h"
#include "forge/standing.h"
#include "kforge/run.h"
#include "propose/proposer.h"
#include "store/store.h"

namespace kforge::forge {

struct Entry {
  Candidate candidate;
  std::uint64_t round = 0, place = 0;
  std::string purpose;                           // store::kSearch, store::kAblation
  bool judged = false;
  Verdict verdict;                               // of the latest verification when there was one
  std::vector<evidence::KernelProfile> profiles;
  Standing standing;
  double started_s = 0, build_s = 0, judge_s = 0, observed_gain = 0;
  double cost = 0;                               // of compiling it, by the size of its PTX; 0: not known
  bool reused = false;
  std::string ptx_hash;                          // of its PTX; "": it has none
  bool verified = false;                         // judged again with fresh inputs and accepted
};

class Journal {
 public:
  // A new run, or one that the store has: then with all that it tried.
  static Expected<Journal> begin(store::Store& store, store::RunRow row, const Plan& plan);
  static Expected<Journal> reopen(store::Store& store, store::RunRow row);

  std::deque<Entry>& entries() { return entries_; }
  const std::deque<Entry>& entries() const { return entries_; }
  Entry* find(const std::string& id);
  const Entry* find(const std::string& id) const;
  store::RunRow& row() { return row_; }
  const store::RunRow& row() const { return row_; }
  const Plan& plan() const { return plan_; }
  Expected<void> set_plan(const Plan& plan);
  std::uint64_t rounds() const { return rounds_; }

  // The candidates of the next round, all or none.
  Expected<void> add_round(const std::vector<Candidate>& candidates, const std::string& purpose);
  Expected<void> add_verdict(Entry& entry, Judgement judgement, const std::string& key);
  // A verdict that another run came to under the same key; nothing when there is none.
  Expected<bool> reuse_verdict(Entry& entry, const std::string& key);
  // The verdict of another candidate of this run, which is the same code: said in a rung of its own.
  Expected<void> share_verdict(Entry& entry, const Entry& twin);
  // The earlier candidate of the run whose host code is the entry's (its source is the same text), and whose kernels are, too: equal PTX, and equal registers
  // and spills of what was launched. "": none. What was not judged to the end has none.
  std::string twin_of(const Entry& entry, std::string_view ptx, std::span<const build::KernelReport> kernels) const;
  Expected<void> add_verification(Entry& entry, std::uint64_t seed, const Verdict& verdict);
  Expected<void> event(double at_s, const std::string& kind, const std::string& text);
  Expected<void> save_row();

  // The candidate to deliver, and the accepted one; null while there is none.
  const Entry* best() const;
  const Entry* winner() const;
  double baseline_us() const;
  // For proposers: the judged candidates of the search, in order.
  std::vector<propose::Tried> tried() const;

 private:
  Journal(store::Store& store, store::RunRow row) : store_(&store), row_(std::move(row)) {}
  Expected<void> load();
  Expected<void> take_verdict(Entry& entry, const store::VerdictRow& row);
  void note_gain(Entry& entry) const;

  store::Store* store_;
  store::RunRow row_;
  Plan plan_;
  std::deque<Entry> entries_;
  std::uint64_t rounds_ = 0;
};

// Whether the verdict is another candidate's, whose code is the same.
bool is_shared(const Verdict& verdict);

// Ids of each best right one in turn, accepted or not: the steps of a run's story. Those of the ablation are the winner's lesser twins and no steps.
std::vector<std::string> successive_best(const std::deque<Entry>& entries);

// The record of a run, from the store alone.
Expected<RunRecord> record_of(store::Store& store, const store::RunRow& row);

// A plan as the text that the store keeps, and back.
std::string plan_text(const Plan& plan);
Expected<Plan> plan_of(const std::string& text);

}  // namespace kforge::forge
