// When the search ends, as small named rules in order of precedence. The outcome of a run is the name of the rule that ended it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kforge/optimize.h"

namespace kforge::forge {

// What the rules look at.
struct SearchState {
  OptimizeBudget budget;
  double seconds = 0, reserved_seconds = 0;   // spent; kept back for verifying the winner and taking its moves back
  std::uint64_t judged = 0;                   // candidates of the search, without the baseline
  std::uint64_t since_better = 0;             // of them since the best one last changed
  bool asked_and_empty = false;               // every proposer was asked and knows no more
  bool nothing_to_start_from = false;         // no kernel was given, and nobody has proposed one
  std::string model_spent;                    // why the language model can be asked no more, where a budget of its own is spent; ""
  bool has_goal = false, goal_met = false;
  double best_us = 0, floor_us = 0;           // of the accepted winner; of physics
  bool interrupted = false;
};

struct StopRule {
  std::string_view outcome;                   // goal budget stagnation exhausted interrupted
  std::optional<std::string> (*why)(const SearchState& state);   // one sentence when it applies
};
std::span<const StopRule> stop_rules();

struct Stop { std::string outcome, why; };
std::optional<Stop> should_stop(const SearchState& state);

}  // namespace kforge::forge
