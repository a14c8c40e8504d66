// The correctness contracts other than numerics, from one call's evidence: what the process did, what the observers saw, what was
// written, and the manners of the launcher.
#pragma once

#include <string>

#include "judge/findings.h"
#include "task/task.h"
#include "trial/trial.h"

namespace kforge::judge {

// Adds this call's findings. Returns the first reason why the case failed; empty when nothing was wrong.
std::string judge_call(const task::Task& task, const trial::CallEvidence& call, const std::string& candidate, FindingSet& findings);

// Findings of the build rung: diagnostics, interface, forbidden symbols and imports, instructions that the target lacks.
void judge_build(const task::Task& task, const trial::TrialResult& trial, int sm, const std::string& candidate, const trial::Defences& defences, FindingSet& findings);

// What a call looks like to a judge whose defences are switched off.
trial::CallEvidence without(const trial::Defences& defences, trial::CallEvidence call);

}  // namespace kforge::judge
