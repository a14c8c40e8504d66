// Delivery: a run's winner as a folder that builds without Kernel Forge, and recorded verdicts that CI holds kernels to.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kforge/check.h"
#include "kforge/error.h"
#include "kforge/run.h"
#include "kforge/verdict.h"

namespace kforge {

enum class ExportForm : std::uint8_t {
  cuda,   // the kernel, a C header, CMake, a test
  cpp,    // the same with a C++ header whose function checks its arguments, and an installable CMake package
};

struct ExportOptions {
  ExportForm form = ExportForm::cuda;
  std::string folder;     // made if it is not there; "" means the task's name in the current folder
  bool overwrite = false; // else a folder that holds anything is an error
};

struct Exported {
  std::string folder;
  std::vector<std::string> files;    // written, from the folder
  bool has_test = false;             // false: the reference is no C++ and no formula
  // For a shell in the current folder, as they stand. The tests' are "" without a test; the emulated GPU's also where its runtime is not there.
  std::string build_command, test_command, emulated_test_command;
};

// The winner byte for byte as it was verified, with everything to build, test and trust it. Several runs of one interface, tuned for
// different sizes, become one library whose function takes the winner of the nearest size. Errors: bad_input (a run without a
// winner, runs of different interfaces, a folder in use, a task that cannot be read any more), failed.
Expected<Exported> export_run(const RunRecord& run, const ExportOptions& options);
Expected<Exported> export_runs(const std::vector<RunRecord>& runs, const ExportOptions& options);

// ---- CI

// A pair of task and candidate with the verdict that it had: one file NAME.ci.json in a folder (schema kforge.ci/1). Paths in
// it start from that folder.
struct RecordedPair {
  std::string name, task, candidate, gpu;
  bool only_correctness = false;
  std::string sources;     // hash of task file and candidate: a changed verdict of unchanged sources is the judge's change
  Verdict expected;
};

enum class PairOutcome : std::uint8_t { same, better, regressed, failed };   // failed: it could not be judged
std::string_view name(PairOutcome outcome);

struct PairResult {
  RecordedPair pair;
  PairOutcome outcome = PairOutcome::same;
  std::vector<std::string> reasons;     // "shared.banks was passed and is failed"
  double expected_us = 0, us = 0, seconds = 0;
};

struct CiReport {
  std::vector<PairResult> pairs;
  bool passed() const;                  // at least one pair, none regressed or failed
};

using JudgeFunction = std::function<Expected<Verdict>(const CheckOptions&)>;   // kforge::check

// Judges `options` and writes the pair into `folder` under `name` ("" makes one of task and candidate). The path of its file.
Expected<std::string> record_pair(const std::string& folder, const std::string& name, const CheckOptions& options, const JudgeFunction& judge);
// Judges every pair of the folder again. A status or required contract that got worse, or a time that is longer by more than `slower`
// (0.05 is 5%), is a regression; so is an acceptance of what was rejected with the same sources. Errors: bad_input (no such folder, no pair, a broken record).
Expected<CiReport> run_ci(const std::string& folder, double slower, const JudgeFunction& judge, const std::function<void(std::string_view)>& progress);

std::string to_text(const CiReport& report, bool colour);
std::string to_junit(const CiReport& report);
std::string to_json(const CiReport& report);   // schema kforge.ci-report/1

}  // namespace kforge
