// The memory of the forge: runs, their plans, candidates, verdicts, profiles and events; winners and what moves brought, across runs.
//
// A folder with a database (store.db) and artefacts/. Each function is one transaction and has happened when it returns: a process that is
// killed at any point leaves what was returned from, and nothing half. Any number of processes may use one store at once; a run is
// worked on by one of them, which holds the run's lock. A Store is for one thread at a time.
//
// The format is described in docs/store.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/lock.h"
#include "store/artefacts.h"
#include "store/database.h"
#include "store/rows.h"

namespace kforge::store {

inline constexpr double kBusySeconds = 30;   // how long a writer waits for another process

// `folder`, else $KFORGE_STORE, else .kforge/store in the current folder.
std::filesystem::path store_folder(const std::string& folder);

class Store {
 public:
  // Errors: missing when it is not there and `create` is false; unsupported (of a later version); failed.
  static Expected<Store> open(const std::filesystem::path& folder, bool create, double busy_seconds = kBusySeconds);

  const std::filesystem::path& folder() const { return folder_; }
  // Files for people of one run: winner.cu, plan.toml. Beside a store that is .kforge/store they are in .kforge/runs.
  std::filesystem::path run_folder(const std::string& run) const;
  const Artefacts& artefacts() const { return artefacts_; }

  // --- runs. Errors of reading: missing (no such run), bad_input (a prefix of several).
  Expected<void> begin_run(const RunRow& run);
  // Seconds, outcome, goal_met, baseline, winner, best, summary, plan of a run that is there.
  Expected<void> update_run(const RunRow& run);
  Expected<std::vector<RunRow>> runs();                       // oldest first
  Expected<RunRow> run(const std::string& id);                // whole, a unique prefix, or "last"
  // The last one that began and came to no end, and that nobody works on. Errors: missing (there is none), with the last run's name.
  Expected<RunRow> unfinished_run();
  // Held while a process works on the run. Errors: bad_input when another one does.
  Expected<FileLock> lock_run(const std::string& id) const;
  bool is_worked_on(const std::string& id) const;

  // --- candidates: all of a round or none; one that the run has already is left as it is.
  Expected<void> add_candidates(const std::string& run, const std::vector<CandidateRow>& rows);
  Expected<std::vector<CandidateRow>> candidates(const std::string& run);

  // --- verdicts: one a candidate and run; a second one is refused (failed), since nothing is judged twice.
  Expected<void> add_verdict(const std::string& run, const VerdictRow& row);
  Expected<std::vector<VerdictRow>> verdicts(const std::string& run);
  Expected<std::optional<VerdictRow>> find_verdict(const std::string& key);   // of any run, the latest
  Expected<bool> has_verdict(const std::string& key);
  Expected<void> add_verification(const std::string& run, const VerificationRow& row);
  Expected<std::vector<VerificationRow>> verifications(const std::string& run);

  Expected<void> add_dead_end(const std::string& run, const DeadEndRow& row);
  Expected<std::vector<DeadEndRow>> dead_ends(const std::string& run);
  Expected<void> set_contributions(const std::string& run, const std::vector<ContributionRow>& rows);
  Expected<std::vector<ContributionRow>> contributions(const std::string& run);

  Expected<void> add_event(const std::string& run, double at_s, const std::string& kind, const std::string& text);
  Expected<std::vector<EventRow>> events(const std::string& run);
  Expected<void> add_message(const std::string& run, const MessageRow& row);
  Expected<std::vector<MessageRow>> messages(const std::string& run);   // in order

  // --- across runs
  // Keeps the faster one of the old and the new winner.
  Expected<void> remember_winner(const WinnerKey& key, const std::string& run, const std::string& candidate, double us);
  Expected<std::optional<WinnerRow>> remembered_winner(const WinnerKey& key);
  Expected<void> forget_winner(const WinnerKey& key);         // it did not hold when it was verified again
  Expected<void> add_gain(const std::string& run, const GainRow& row);
  Expected<GainSummary> gains(const std::string& move, const std::string& pattern, const std::string& gpu);
  Expected<void> add_case(const CaseRow& row);                // again: replaces it
  // Largest gain first; each word must be in one of the texts (letter case of ASCII does not count).
  Expected<std::vector<CaseRow>> cases(const std::vector<std::string>& words, std::size_t count);

 private:
  Store(std::filesystem::path folder, Database database)
      : folder_(std::move(folder)), artefacts_(folder_ / "artefacts"), database_(std::move(database)) {}
  Expected<Candidate> read_candidate(const Row& row, int first);

  std::filesystem::path folder_;
  Artefacts artefacts_;
  Database database_;
};

}  // namespace kforge::store
