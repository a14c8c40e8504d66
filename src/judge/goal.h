// The contract `goal`: as fast as the task asks (contracts.md). On a machine without a GPU the time is modelled, and the report says so.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "kforge/verdict.h"
#include "task/task.h"

namespace kforge::judge {

// What a goal is compared with.
struct GoalFigures {
  std::optional<TimeReport> time;               // of the candidate, the measure sizes summed
  double floor_us = 0;                          // of physics, summed likewise; 0: not known
  std::map<std::string, double> baselines_us;   // by the word or path of `versus`, as far as they are known
};

// Status, measured, required and evidence of the contract. `failed` when any stated part fails; else `unknown`, saying what is missing,
// when any part could not be compared; else `passed`. A ratio is against the fastest of the baselines: one that is known and beats the candidate settles it.
// REQUIRES: the goal asks for something.
ContractReport judge_goal(const task::Goal& goal, const GoalFigures& figures);

// Puts the goal's answer into a verdict that was formed without it, and forms status and reason anew by the rules of contracts.md. A task
// without a goal leaves the verdict as it is.
void settle_goal(Verdict& verdict, const task::Task& task, const GoalFigures& figures);

}  // namespace kforge::judge
