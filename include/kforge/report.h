// Verdicts for people.
#pragma once

#include <string>

#include "kforge/verdict.h"

namespace kforge {

struct TextOptions {
  bool colour = false;
  bool all_cases = false;     // also the cases and contracts that passed
  int max_findings = 20;      // further ones are counted in one line
};

// The verdict as a terminal shows it: findings with source excerpt and caret, contracts, cases, the answer last.
// Control characters of the candidate's text are made harmless.
std::string to_text(const Verdict& verdict, const TextOptions& options);

}  // namespace kforge
