// The judge's answer about one candidate: schema `kforge.verdict/1`, as values.
//
// Whoever proposed the candidate and wherever it ran, the answer has this shape. `unknown` and `skipped` are never `passed`: what
// could not be established is listed under `unproven`, or makes the whole verdict an `error` when it must be known.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kforge {

enum class VerdictStatus : std::uint8_t { accepted, rejected, error };
enum class Level : std::uint8_t { required, advice, off };
enum class Status : std::uint8_t { passed, failed, unknown, off, skipped };
enum class Severity : std::uint8_t { error, warning, note };

std::string_view name(VerdictStatus status);
std::string_view name(Level level);
std::string_view name(Status status);
std::string_view name(Severity severity);

struct RungReport {
  std::string name;
  Status status = Status::unknown;
  double seconds = 0;
  std::string why;              // of anything but passed
};

// Error figures of one output tensor against the reference (contracts.md, "Numerics").
struct TensorReport {
  std::string name;
  double max_abs = 0, max_rel = 0, mae = 0, rmse = 0, rel_l2 = 0;
  double psnr_db = 0;           // infinite when equal
  double cosine = 1;
  std::uint64_t elements = 0, mismatched = 0;
  std::uint64_t undecided = 0;    // of adversarial values: not compared, for the reference itself moves with its inputs' last bits
  std::int64_t worst_index = -1;  // row-major element index; -1 when nothing differs
};

struct CaseReport {
  std::vector<std::pair<std::string, std::int64_t>> sizes;  // in the launcher's order
  std::string values;           // declared, zeros, denormals, ...
  std::uint32_t call = 0;       // of a repeated case
  Status status = Status::unknown;
  bool degenerate = false;      // compared, but no proof
  bool sampled = false;         // only some blocks ran: evidence for performance, not for correctness
  std::string device = "emulated";   // or "gpu", "gpu timed": a call of the rung time
  std::string why;              // of anything but passed
  std::vector<TensorReport> tensors;
};

struct ContractReport {
  std::string id;
  Level level = Level::required;
  Status status = Status::unknown;
  std::string measured, required;
  std::string evidence;         // ncu, emulator, emulator(ptx), sass, ptxas, ptx, nvcc, process
};

// One violation at one line.
struct Finding {
  std::string contract;
  Severity severity = Severity::error;
  std::string kernel;           // readable name; empty for the host side
  std::string file;
  std::uint32_t line = 0, column = 0;
  std::string message, measured, required;
  std::string cause;
  std::vector<std::string> advice;
  std::string rule;             // of the knowledge base
  std::uint64_t count = 1;      // occurrences
  std::string other_file;       // second party (of a race, say)
  std::uint32_t other_line = 0;
  std::vector<std::string> details;  // further lines for people: lane addresses, banks
};

struct BaselineTime { std::string name; double us = 0; };

// What a measured time was measured on, and in what state that was (docs/timing.md).
struct TimeConditions {
  std::string gpu, driver, toolkit;   // "NVIDIA H200", "580.159.04", "13.0.88"
  double sm_mhz = 0, memory_mhz = 0, temperature_c = 0, power_w = 0;   // medians while samples were taken; 0: not told
  bool power_capped = false;
};

// Of the measure sizes, summed. Microseconds.
struct TimeReport {
  double us = 0, p99_us = 0, spread = 0, first_call_us = 0;
  std::string source;           // measured | modelled
  std::string bottleneck;       // in plain words; "" when not known
  // What follows is of measured times alone.
  double interval = 0;          // width of the median's 95% confidence interval over the median, the widest
  double launch_us = 0;         // the host's part of a call
  double graph_us = 0;          // replayed in a graph; 0: not done
  double back_to_back_us = 0;   // in a burst of calls, by another process's clock
  double modelled_us = 0;       // what the time model says of the same
  double floor_us = 0;          // of physics; 0: not known
  std::uint64_t samples = 0, discarded = 0, verified = 0;   // discarded: heat or power brake; verified: calls whose outputs were compared
  bool warm = false, host_bound = false;   // L2 was warm; us is the host's time, which exceeds the kernels'
  std::vector<BaselineTime> baselines;     // measured in turns with it
  TimeConditions conditions;
};

struct ResourceReport {
  std::string kernel;
  int registers = 0, shared_bytes = 0, spill_bytes = 0, warps_per_sm = 0;
  std::string limiter;
};

struct Verdict {
  VerdictStatus status = VerdictStatus::error;
  std::string why;              // one sentence for people
  std::string task, candidate, gpu;
  std::string device;           // "emulated h200", "NVIDIA H200"
  std::vector<std::string> unproven;
  std::vector<RungReport> rungs;
  std::vector<CaseReport> cases;
  std::vector<ContractReport> contracts;
  std::vector<Finding> findings;
  std::optional<TimeReport> time;
  std::vector<ResourceReport> resources;  // one a kernel, the busiest first
  std::uint64_t fresh_seed = 0; // of all inputs; `--fresh-seed` gives the same ones again
  double seconds = 0;           // the check itself took
};

// 0 accepted, 1 rejected, 3 error.
int exit_code(const Verdict& verdict);

// One JSON document, pretty-printed, ending in a newline.
std::string to_json(const Verdict& verdict);

}  // namespace kforge
