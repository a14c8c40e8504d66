// A trial: one candidate through the rungs build, static, emulate, correct, time. Each rung is independent, has a budget,
// reports its figures and never hides the next. The candidate's code runs only in a worker process under limits; the expected
// outputs are computed in another process and meet the outputs here, in the parent, and nowhere else.
//
// A trial gathers evidence and forms no verdict: that is the judge's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "build/builder.h"
#include "evidence/launch_log.h"
#include "gpu/counter_sets.h"
#include "gpu/device.h"
#include "gpu/ncu.h"
#include "gpu/nvml.h"
#include "gpu/stalls.h"
#include "hardware/data_sheet.h"
#include "ptx/module.h"
#include "task/cases.h"
#include "task/task.h"
#include "trial/defences.h"
#include "trial/shared_list.h"

namespace kforge::trial {

class PreparedStore;
struct TrialResult;

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
  bool on_gpu = false;                  // ran on a real GPU: no log beside ending and return code
  bool timed = false;                   // its outputs are those of a call that was timed
  std::string unverified;               // why its outputs have no reference; empty when they have
  evidence::LaunchLog log;
  std::vector<Output> outputs;
  std::vector<SharedBytes> inputs;      // in order of the task's in and inout tensors (for the copy-of-an-input rule)
  // numerics.deterministic: how often the call was repeated with equal inputs under another order of the warps, and the output whose
  // bits then differed ("" none).
  std::uint32_t repeats = 0;
  std::string differing_output;
  // Of each output, with adversarial values: by how much its elements move with the inputs' last bits (References::moves), which takes several runs of the reference. Not
  // beyond the call that is handed this evidence; null: cannot be told.
  std::function<std::vector<std::vector<double>>()> moves;
  ProcessFault fault;
  std::string skipped;                  // why this case was not run (after a hang, kill or exit); empty when it was
  double seconds = 0;
};

struct Budget {
  double call_seconds = 20;
  double reference_seconds = 0;   // where a call of the reference may take longer than a candidate's: it is computed once for all of a search's
  std::uint64_t call_thread_instructions = 2'000'000'000;
  std::uint64_t measure_thread_instructions = 300'000'000;   // a measure size that needs more runs on sampled blocks
  std::uint64_t memory_bytes = 8ull << 30;

  double seconds_of_reference() const { return std::max(call_seconds, reference_seconds); }
};

// The real GPU on which a candidate runs besides the emulated one.
struct GpuOptions {
  gpu::Device device;
  std::string driver_version;
  std::string driver, runtime;          // paths of libcuda and libcudart
  std::shared_ptr<const gpu::Nvml> nvml;   // null: clocks and temperature are not known
};

struct TimeOptions {
  bool wanted = true;
  double seconds = 4;                   // for the samples of one size, per contestant
  double interval = 0.005;              // of the median, relative: then it is known well enough
  bool warm = false;                    // L2 as the call before on the same buffers left it; else cold
  bool search = false;                  // of a run's candidates: the same single draw for all; what it finds is judged again with all draws
  bool glance = false;                  // on the GPU nothing but this: the median, and one comparison of its outputs; no cross-checks, so that it proves nothing
};

// The state of the GPU while one contestant was timed, medians over its blocks of samples.
struct Conditions {
  double sm_mhz = 0, memory_mhz = 0, temperature_c = 0, power_w = 0;
  bool power_capped = false;
};

// One contestant at one measure size. Times in microseconds.
struct Timing {
  std::string name;                     // "" is the candidate; else of a baseline
  task::Sizes sizes;
  std::string label;                    // "rows=17 cols=1000"
  double us = 0, p99_us = 0, spread = 0, interval = 1;
  double first_call_us = 0;             // of a fresh process, by the host's clock
  double launch_us = 0;                 // the host's part of a call
  double graph_us = 0;                  // replayed in a graph; 0: not done
  double back_to_back_us = 0;           // a call in a burst of calls on different buffers, by the parent's clock
  double fresh_us = 0;                  // median on inputs that were never seen before
  double empty_us = 0;                  // an interval with nothing in it
  bool warm = false;                    // L2 as TimeOptions::warm says
  bool witnessed = false;               // the outputs of bursts lay in another process, which read them (keeper.h)
  bool host_bound = false;              // us is back_to_back_us: the launcher's own work on the host takes longer than its kernels
  std::uint64_t samples = 0, discarded = 0, verified = 0;   // discarded: taken under thermal or hardware slowdown
  Conditions conditions;
  std::string ended_by;                 // "interval" or "budget"
  std::string failure;                  // why there is no time; "" when there is one
  std::vector<std::string> dishonest;   // what speaks against the time, in sentences
  std::string unverified;               // why no output of a timed call was compared; ""
  std::vector<double> samples_us;
};

// Hardware counters of one call at one measure size, a row a kernel launch.
struct CounterProfile {
  task::Sizes sizes;
  std::string label;
  std::optional<gpu::Suspect> suspect;  // whose metrics were asked for besides those of contracts
  std::vector<gpu::CounterRow> kernels;
  std::vector<gpu::KernelStalls> stalls;   // of the largest measure size: where its warps waited
};

struct Baseline {
  std::string name, source;             // source: a .cu file with the task's launcher
  bool optional = false;                // one that does not build is left out
  std::string pytorch = {};             // "eager" or "compile": PyTorch's operator of `pattern` in place of a source
  std::string pattern = {};
  bool own = false;                     // of the user: its object is looked at as a candidate's
};

struct TrialRequest {
  const task::Task* task = nullptr;
  std::string candidate;
  hardware::DataSheet sheet;
  std::string sheet_name;               // what the worker's runtime finds the same sheet by: a name, or an absolute path; "" means sheet.name
  Budget budget;
  std::uint64_t seed = 1;
  std::uint64_t fresh_seed = 0;         // of the inputs that nobody can know before (task::CaseOptions)
  Defences defences;
  bool profile = true;                  // false: correctness alone (measure sizes run for correctness where they fit)
  bool sampled_only = false;            // the measure sizes alone, each on a few sampled blocks: a model's figures, and no proof of anything
  std::function<void(std::string_view)> progress;   // one line a step; may be empty
  std::function<bool()> stop;           // asked before each call and while one runs: true ends it and skips all that follow; may be empty
  build::CompileServer* compile_server = nullptr;   // as CandidateRequest; may be null
  PreparedStore* prepared = nullptr;    // of this task: inputs and expected outputs are taken from it and kept in it; may be null
  CostLedger* costs = nullptr;          // takes what the trial used; may be null
  std::optional<GpuOptions> gpu;        // also run and time it there
  TimeOptions time;
  std::vector<Baseline> baselines;      // timed in turns with the candidate
  std::function<void(const std::string& baseline, const CallEvidence&)> on_baseline;   // outputs of a baseline's timed calls; may be empty
  bool sanitize = false, counters = false;   // the rungs sanitize and profile, on the GPU
  std::function<bool(const build::Artefact&)> worth_running;   // asked after the build: false skips all that follow; may be empty
  // What is suspected to bound the candidate at a measure size, after all other rungs: it chooses the counters. Empty: those of contracts alone.
  std::function<std::optional<gpu::Suspect>(const TrialResult& so_far, const task::Sizes&)> suspect;
  std::function<bool()> worth_timing;   // asked after the rung correct: false skips the rung time; may be empty
};

struct TrialResult {
  build::Artefact artefact;
  std::shared_ptr<const ptx::Module> module;    // of the artefact's PTX; null when it did not build or parse
  std::string ptx_error;
  std::vector<Rung> rungs;
  std::vector<CounterProfile> counters;
  std::vector<Timing> times;            // of the candidate and of the baselines, by measure size
};

// Calls `on_call` once per call, in order, as soon as its outputs and references are there; what it is handed is dropped afterwards.
// Errors: missing (no compiler, no worker program), bad_input (the task's reference does not build or crashes), failed.
Expected<TrialResult> run_trial(const TrialRequest& request, const std::function<void(const CallEvidence&)>& on_call);

build::Interface interface_of(const task::Task& task);            // of the candidate
build::Interface reference_interface_of(const task::Task& task);

}  // namespace kforge::trial
