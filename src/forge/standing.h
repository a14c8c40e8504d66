// What a verdict is worth to the search: right before fast, accepted before all.
#pragma once

#include <cstdint>
#include <string>

#include "kforge/plan.h"
#include "kforge/verdict.h"

namespace kforge::forge {

// Best first.
enum class Grade : std::uint8_t {
  accepted,       // every required contract holds
  far_from_goal,  // fails the goal alone
  slow,           // right, but a required performance contract fails: a step on the way, never a winner
  unproven,       // something that must be known could not be established
  wrong,          // a required correctness contract fails
};

struct Standing {
  Grade grade = Grade::wrong;
  double us = 0;                 // of the measure sizes, summed; 0: no time
  bool right() const { return grade <= Grade::slow; }
};

Standing standing_of(const Verdict& verdict);

// Whether `a` is to be delivered rather than `b`.
bool better(const Standing& a, const Standing& b);
// Whether `a` is the more promising one to derive from: among right ones the time alone counts, since contracts may yet be met.
bool more_promising(const Standing& a, const Standing& b);

// What keeps the candidate from being faster, in plain words.
std::string bottleneck_of(const Verdict& verdict, const Plan& plan);

// Of a verdict that is no answer: the first required contract that is not known, and why.
std::string unknown_of(const Verdict& verdict);

// What the outcome teaches (training records): -1 for a wrong candidate; for a right one the binary logarithm of its gain over the
// baseline, 0 where either has no time; plus 1 when it is accepted.
double reward_of(const Standing& standing, double baseline_us);

}  // namespace kforge::forge
