// Runs a suite of tasks, with a language model or without, and says how that did: `kforge eval` as a function.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kforge/error.h"
#include "kforge/optimize.h"

namespace kforge {

// fast_p counts the tasks whose kernel is right and more than p times as fast as the baseline.
inline constexpr std::array<double, 4> kFastThresholds{0.8, 1.0, 1.5, 2.0};

struct EvalRow {
  std::string task, path, run;   // name, file, id of the run
  std::string outcome, why;      // of the run; "failed" when there was none
  bool correct = false;          // what was delivered is right
  bool accepted = false;         // and meets every required contract
  double us = 0, baseline_us = 0, speedup = 0;   // 0: not known
  std::string time_source;
  std::uint64_t candidates = 0, right = 0;       // judged; those that were right
  std::uint64_t answers = 0, input_tokens = 0, output_tokens = 0;   // of the model
  std::optional<double> dollars; // nothing: a price is not known
  double seconds = 0;
};

struct EvalOptions {
  std::string suite;             // a folder: its task.toml files, at most two levels down; or a text file with a task's path a line, from its own folder
  OptimizeOptions optimize;      // but for `task`. "{task}" in the model's spec stands for the task's name (of its folder): replay:records/{task}.jsonl
  std::function<void(std::string_view)> progress;   // one line a step; may be empty
  std::function<void(const EvalRow&)> done;  // after each task; may be empty
};

struct EvalReport {
  std::string suite, llm;
  std::vector<EvalRow> rows;
  double correct_rate() const;            // 0 to 1
  double fast(double p) const;            // 0 to 1; a task without a time counts as not fast
  std::optional<double> dollars() const;  // nothing when one task's are not known
};

// Task after task. A task that fails is a row. Errors: bad_input (no such suite, no task in it, a provider that is not known).
Expected<EvalReport> evaluate(const EvalOptions& options);

std::string to_text(const EvalReport& report);   // a table, and the rates
std::string to_json(const EvalReport& report);   // schema kforge.eval/1

}  // namespace kforge
