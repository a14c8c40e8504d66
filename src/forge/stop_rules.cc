#include "forge/stop_rules.h"

#include <array>

#include <fmt/format.h>

#include "base/counted.h"

namespace kforge::forge {
namespace {

using Why = std::optional<std::string>;

// Nearer to the floor of physics than this, no move can bring what its compile costs.
constexpr double kAtTheFloor = 1.02;

Why interrupted(const SearchState& s) {
  if (!s.interrupted) return {};
  return "it was asked to stop";
}

Why goal(const SearchState& s) {
  if (s.has_goal) return s.goal_met ? Why("the goal is met") : Why();
  if (s.best_us <= 0 || s.floor_us <= 0 || s.best_us > kAtTheFloor * s.floor_us) return {};
  return fmt::format("the winner is within {:.0f}% of the floor of physics", 100 * (kAtTheFloor - 1));
}

Why time_budget(const SearchState& s) {
  if (s.seconds < s.budget.seconds - s.reserved_seconds) return {};
  return fmt::format("{:.0f} of {:.0f} seconds are spent", s.seconds, s.budget.seconds);
}

Why candidate_budget(const SearchState& s) {
  if (s.judged < s.budget.candidates) return {};
  return fmt::format("{} besides the start {} judged, as many as the budget allows", counted(s.judged, "candidate"), s.judged == 1 ? "is" : "are");
}

Why stagnation(const SearchState& s) {
  if (s.budget.stagnation == 0 || s.since_better < s.budget.stagnation) return {};
  return s.since_better == 1 ? "the last candidate was no better than the best one" : fmt::format("the last {} candidates were no better than the best one", s.since_better);
}

Why model_budget(const SearchState& s) {
  if (!s.asked_and_empty || s.model_spent.empty()) return {};
  return s.model_spent;
}

Why exhausted(const SearchState& s) {
  if (!s.asked_and_empty) return {};
  if (s.nothing_to_start_from)
    return "no template fits this task, and there is no kernel to change: put a naive.cu beside the task file, or give --from FILE, or a language model with --llm";
  return "no proposer knows a further candidate";
}

constexpr std::array<StopRule, 7> kRules{{{"interrupted", interrupted}, {"goal", goal}, {"budget", time_budget}, {"budget", candidate_budget},
                                          {"stagnation", stagnation}, {"budget", model_budget}, {"exhausted", exhausted}}};

}  // namespace

std::span<const StopRule> stop_rules() { return kRules; }

std::optional<Stop> should_stop(const SearchState& state) {
  for (const StopRule& rule : kRules)
    if (auto why = rule.why(state)) return Stop{std::string(rule.outcome), std::move(*why)};
  return std::nullopt;
}

}  // namespace kforge::forge
