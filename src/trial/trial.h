// A trial: one candidate through the rungs build, static, emulate, correct. Each rung is independent, has a budget,
// reports its figures and never hides the next. The candidate's code runs only in a worker process under limits; the expected
// outputs are computed in another process and meet the outputs here, in the parent, and nowhere else.
//
// A trial gathers evidence and forms no verdict: that is the judge's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "build/builder.h"
#include "evidence/launch_log.h"
#include "hardware/data_sheet.h"
#include "ptx/module.h"
#include "task/cases.h"
#include "task/task.h"
#include "trial/shared_list.h"

namespace kforge::trial {

class PreparedStore;

enum class RungStatus : std::uint8_t { passed, failed, skipped, unknown };

struct Rung {
  std::string name;            // build static emulate correct sanitize time profile
  RungStatus status = RungStatus::unknown;
  double seconds = 0;
  std::string why;             // of anything but passed
};

// What the candidate's process did wrong as a process, if anything.
struct ProcessFault {
  std::string contract;        // "" none; run.crash run.hang run.exit run.limit interface
  std::string message;         // with the signal, exit code, forbidden system call or exceeded limit
};

struct Output {
  std::string tensor;
  std::vector<std::byte> bytes;
  SharedList<double> reference;         // of every element, row-major; empty when it was not computed (sampled)
  // References of further draws of the same case, for small outputs, after the case's last call (contracts.md, "Numerics").
  std::vector<std::vector<double>> further_references;
};

// One call of the launcher in one case.
struct CallEvidence {
  task::Case run;                       // .seed is that of this call
  std::uint32_t call = 0;               // 0-based, of run.calls
  bool sampled = false;
  bool completed = false;               // the launcher returned and outputs came back
  evidence::LaunchLog log;
  std::vector<Output> outputs;
  std::vector<SharedBytes> inputs;      // in order of the task's in and inout tensors (for the copy-of-an-input rule)
  // numerics.deterministic: how often the call was repeated with equal inputs under another order of the warps, and the output whose
  // bits then differed ("" none).
  std::uint32_t repeats = 0;
  std::string differing_output;
  ProcessFault fault;
  std::string skipped;                  // why this case was not run (after a hang, kill or exit); empty when it was
  double seconds = 0;
};

struct Budget {
  double call_seconds = 20;
  std::uint64_t call_thread_instructions = 2'000'000'000;
  std::uint64_t measure_thread_instructions = 300'000'000;   // a measure size that needs more runs on sampled blocks
  std::uint64_t memory_bytes = 8ull << 30;
};

struct TrialRequest {
  const task::Task* task = nullptr;
  std::string candidate;
  hardware::DataSheet sheet;
  std::string sheet_name;               // what the worker's runtime finds the same sheet by: a name, or an absolute path; "" means sheet.name
  Budget budget;
  std::uint64_t seed = 1;
  bool profile = true;                  // false: correctness alone (measure sizes run for correctness where they fit)
  std::function<void(std::string_view)> progress;   // one line a step; may be empty
  std::function<bool()> stop;           // asked before each call and while one runs: true ends it and skips all that follow; may be empty
  build::CompileServer* compile_server = nullptr;   // as CandidateRequest; may be null
  PreparedStore* prepared = nullptr;    // of this task: inputs and expected outputs are taken from it and kept in it; may be null
  CostLedger* costs = nullptr;          // takes what the trial used; may be null
};

struct TrialResult {
  build::Artefact artefact;
  std::shared_ptr<const ptx::Module> module;    // of the artefact's PTX; null when it did not build or parse
  std::string ptx_error;
  std::vector<Rung> rungs;
};

// Calls `on_call` once per call, in order, as soon as its outputs and references are there; what it is handed is dropped afterwards.
// Errors: missing (no compiler, no worker program), bad_input (the task's reference does not build or crashes), failed.
Expected<TrialResult> run_trial(const TrialRequest& request, const std::function<void(const CallEvidence&)>& on_call);

build::Interface interface_of(const task::Task& task);            // of the candidate
build::Interface reference_interface_of(const task::Task& task);

}  // namespace kforge::trial
