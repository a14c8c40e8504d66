// Running another program in our place: it has our standard input and outputs, our terminal and our signals, and we wait.
//
// For programs that the user named and trusts (`kforge run`); what must be watched, captured or contained goes through base/process.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace kforge {

struct ForegroundRequest {
  std::vector<std::string> arguments;            // [0] is the program: a name for PATH, or a path
  std::vector<std::string> environment;          // "NAME=value", all of it
  std::optional<double> wall_seconds;            // then the program is killed
};

struct ForegroundResult {
  int exit_status = 0;                           // valid if signal is 0
  int signal = 0;                                // that ended the program, or 0
  bool timed_out = false;
  double wall_seconds = 0;
};

// Interrupts from the terminal reach the program alone. It dies with us. Errors: missing (not found, not executable), failed.
Expected<ForegroundResult> run_in_foreground(const ForegroundRequest& request);

}  // namespace kforge
