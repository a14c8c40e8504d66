// Judges candidates: `kforge check` and `kforge worker` as functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kforge/error.h"
#include "kforge/verdict.h"

namespace kforge {

struct CheckOptions {
  std::string task;               // path of the task file
  std::string candidate;          // path of the .cu; "" means naive.cu beside the task file
  std::string gpu;                // data sheet; "this" is read from the GPU at hand; "" means the task's
  std::string device;             // "" or "emulator"; "gpu" or "gpu:N": also run and time it on that GPU of this machine; "cmd:COMMAND": a kforge worker judges
  double time_seconds = 4;        // for the samples of one measure size
  bool warm = false;              // time with a warm L2
  bool sanitize = false;          // on the GPU: compute-sanitizer's four tools on one case
  bool counters = false;          // on the GPU: ncu's hardware counters of the measure sizes
  bool only_correctness = false;
  std::uint64_t seed = 1;
  std::uint64_t fresh_seed = 0;   // of inputs that no candidate can know before; 0: drawn, and told in the verdict
  double call_seconds = 20;       // a call that exceeds both this and call_instructions fails run.limit
  std::uint64_t call_instructions = 2'000'000'000;
  std::uint64_t measure_instructions = 300'000'000;  // larger measure sizes run on sampled blocks
  std::function<void(std::string_view)> progress;    // one line a step; may be empty
  std::function<bool()> interrupted;                 // asked often: true ends the check, its worker included, with the error `limit`; may be empty
};

// Errors: bad_input (task, call, or a task whose check cannot fail): exit 2; missing, unsupported, failed: exit 3; limit (interrupted).
// Whatever the candidate does wrong is not an error but a rejected verdict.
Expected<Verdict> check(const CheckOptions& options);

// Many candidates of one task, each verdict kept as soon as it is there: `kforge check TASK FOLDER --out OUT`. A call that is cut off loses nothing; the
// next one goes on where it ended.
struct BatchOptions {
  CheckOptions check;            // but for candidate and progress
  std::string folder;            // its .cu files are the candidates
  std::string out;               // folder of the verdicts: NAME.json, and NAME.key, which says what the verdict is of
  std::uint64_t jobs = 0;        // judged at once; 0: one a core
  std::function<void(const std::string& candidate, std::string_view text)> progress;   // from several threads, one at a time; may be empty
};

struct BatchRow {
  std::string candidate;         // name of the file
  std::string status;            // accepted, rejected, error; "failed" when there is no verdict
  std::string why;
  double us = 0;                 // 0: no time
  std::string time_source;
  bool kept = false;             // from an earlier call: candidate, task, options and program are the same
};

// In order of the names. A candidate that cannot be judged is a row. Errors: bad_input (call, task, no candidates), missing, failed (OUT cannot be written).
Expected<std::vector<BatchRow>> check_folder(const BatchOptions& options);

// Judges for another machine: `kforge worker`. One request a line, one or more answers a line each; the form is in docs/remote.md.
// `device` as CheckOptions. `write` is called with whole lines. Never fails: what is wrong with a request is its answer.
void answer_request(std::string_view line, const std::string& device, const std::function<void(const std::string&)>& write);

}  // namespace kforge
