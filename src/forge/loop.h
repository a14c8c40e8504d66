// The loop: ask, judge, record, learn, until a stop rule applies; then verify the winner anew and take its moves back one by one.
//
// It knows no compiler, no emulator and no rule of acceptance: judging is one function of the setting, so that tests put a fake in
// its place. Judgements of a round run on several threads; all else on the caller's. With equal seed, plan and store two runs try the same candidates in
// the same order, however many threads judge, unless the time runs out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "forge/journal.h"
#include "forge/round.h"
#include "forge/run_costs.h"
#include "forge/stop_rules.h"
#include "kforge/optimize.h"

namespace kforge::forge {

struct JudgeCall {
  std::uint64_t seed = 1;
  bool stop_early = true;                        // the first failure will do
  std::function<bool()> cancelled;
  FindTwin twin;                                 // as JudgeRequest
  double worth_us = 0;                           // a candidate that is slower on sampled blocks need not be proven (forge/screen.h); 0: each is
  double best_us = 0;                            // of the right ones so far; 0: there is none
};

struct LoopSetting {
  const task::Task* task = nullptr;
  const hardware::DataSheet* sheet = nullptr;
  store::Store* store = nullptr;
  Journal* journal = nullptr;
  OptimizeBudget budget;
  std::uint64_t seed = 1;
  std::size_t jobs = 1;
  std::size_t round_size = 6;
  Proposers proposers;
  std::vector<Candidate> first;                  // round 0: the baseline, a remembered winner
  // REQUIRES: may be called from several threads at once. Errors end the run, except `limit`, which leaves the candidate to be judged later.
  std::function<Expected<Judgement>(const Candidate& candidate, const JudgeCall& call)> judge;
  // Of everything that a verdict depends on; "": no other run may use it.
  std::function<std::string(const Candidate& candidate)> verdict_key;
  // What building and judging a candidate will take beside a fresh one: 1. May be empty.
  std::function<double(const Candidate& candidate)> effort;
  std::function<double()> clock;                 // seconds, never going back
  RunCosts* costs = nullptr;                     // takes what the loop used itself, and goes into the run's row; may be null
  std::function<void(const Progress&)> progress;
  std::function<bool()> interrupted;
  // Between proposing and judging: what a person made of the round. nullopt: stop. May be empty.
  std::function<Expected<std::optional<std::vector<Candidate>>>(std::uint64_t round, std::vector<Candidate> proposed)> review;
  // After the proposers were asked: why one of them can be asked no more. `limit`: its own budget is spent, the others go on; any other error ends the run. May be empty.
  std::function<std::optional<Error>()> proposer_failure;
};

// The journal then has the outcome. Errors: of the judge, of the store; the run can be resumed.
Expected<void> run_loop(LoopSetting& setting);

}  // namespace kforge::forge
