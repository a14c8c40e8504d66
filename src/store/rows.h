// What the store keeps, as values. Texts in JSON are the business of whoever wrote them; the store looks into none.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kforge/candidate.h"

namespace kforge::store {

struct RunRow {
  std::string id, task_path, task_name, task_text, gpu, device, version, toolkit, started;
  std::uint64_t seed = 1;
  std::string options, plan;          // JSON: what a resumed run needs to go on with the same search
  double seconds = 0;                 // of work, interruptions left out
  std::string outcome = "running", outcome_why;
  bool goal_met = false;
  std::string baseline, winner, best; // candidates' ids
  std::string summary;                // JSON for lists of runs
};

// Which part of a run asked for it.
inline constexpr const char* kSearch = "search";
inline constexpr const char* kAblation = "ablation";

struct CandidateRow {
  Candidate candidate;
  std::uint64_t round = 0, place = 0; // the order of a run: by round, then place
  std::string purpose = kSearch;
};

struct VerdictRow {
  std::string candidate{};
  std::string key{};                  // of everything the verdict depends on; "": never to be used by another run
  std::string status{};
  double us = 0;                      // 0: no time
  double reward = 0, observed_gain = 0;
  std::string verdict{}, profile{}, ptx{};  // texts; kept as artefacts
  std::string bottleneck{};
  double started_s = 0, build_s = 0, judge_s = 0;
  bool reused = false;
};

struct DeadEndRow { std::string candidate, why; };
struct ContributionRow { std::string candidate, ablated; double factor = 1; std::string how, title{}; };   // title: of a part of the candidate's move; "": of all of it
struct EventRow { std::uint64_t number = 0; double at_s = 0; std::string kind, text; };
// One exchange with a language model. `request` names what it was asked by content; prompt and answer are texts, kept as artefacts.
struct MessageRow { double at_s = 0; std::string provider; bool tools = false; std::string request, prompt, answer; };
struct VerificationRow { std::string candidate; std::uint64_t seed = 0; std::string status, verdict; };

// What a winner is remembered by.
struct WinnerKey { std::string pattern, sizes, dtype, gpu, toolkit, version, interface; };
struct WinnerRow { std::string run; Candidate candidate; double us = 0; };

// How moves of one kind did so far.
struct GainRow { std::string candidate, move, title, pattern, gpu; double expected = 1, observed = 0; };
struct GainSummary { std::uint64_t times = 0; double expected = 1, observed = 1; };   // geometric means

// A move that won, for the knowledge base. Ids of candidates of one run.
struct CaseRow {
  std::string run, before, after, pattern, gpu, device, time_source, contract, finding, move, title, rule;
  double before_us = 0, after_us = 0;
  std::string before_source{}, after_source{};   // read back, not written
};

}  // namespace kforge::store
