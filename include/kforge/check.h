// Judges one candidate: `kforge check` as a function.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kforge/error.h"
#include "kforge/verdict.h"

namespace kforge {

struct CheckOptions {
  std::string task;               // path of the task file
  std::string candidate;          // path of the .cu; "" means naive.cu beside the task file
  std::string gpu;                // data sheet; "" means the task's
  bool only_correctness = false;
  std::uint64_t seed = 1;
  double call_seconds = 20;       // a call that exceeds both this and call_instructions fails run.limit
  std::uint64_t call_instructions = 2'000'000'000;
  std::uint64_t measure_instructions = 300'000'000;  // larger measure sizes run on sampled blocks
  std::function<void(std::string_view)> progress;    // one line a step; may be empty
};

// Errors: bad_input (task, call, or a task whose check cannot fail): exit 2; missing, unsupported, failed: exit 3.
// Whatever the candidate does wrong is not an error but a rejected verdict.
Expected<Verdict> check(const CheckOptions& options);

}  // namespace kforge
