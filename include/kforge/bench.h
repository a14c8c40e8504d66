// Times kernels of one task against each other on a real GPU: `kforge bench` as a function. They take turns, each in a process and a context of its
// own; outputs of timed calls are compared with the task's reference. It judges no contract: `check` does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kforge/error.h"
#include "kforge/verdict.h"

namespace kforge {

struct BenchOptions {
  std::string task;                      // path
  std::vector<std::string> candidates;   // .cu files
  std::vector<std::string> baselines;    // "cublas", "cublaslt", "cub"
  std::string beside;                    // a program with a timing loop of its own that takes turns with them (docs/timing.md); ""
  std::string gpu;                       // data sheet, or "this"; "": the task's
  std::string device = "gpu";            // as CheckOptions
  double seconds = 4;                    // for the samples of one size, per candidate
  bool warm = false;
  std::function<void(std::string_view)> progress;
};

// What CUPTI saw the GPU do in one call, after all timing (docs/timing.md).
struct GpuActivity {
  std::string trouble;                // why nothing was seen; "" when the rest counts
  std::uint64_t kernels = 0, streams = 0, copies = 0, host_copies = 0, copied_bytes = 0, fills = 0;   // host_copies: of `copies`, those from or to the host
  std::vector<std::string> names;     // of its kernels, mangled, each once
};

// One candidate at one measure size. Times in microseconds.
struct BenchRow {
  std::string candidate, sizes;          // "good.cu", "rows=17 cols=1000"
  double us = 0, p99_us = 0, spread = 0, interval = 0;
  double first_call_us = 0, launch_us = 0, graph_us = 0, back_to_back_us = 0, fresh_us = 0, empty_us = 0;
  bool host_bound = false;
  bool witnessed = false;         // outputs of bursts were read by a process without a candidate
  std::uint64_t samples = 0, discarded = 0, verified = 0;
  TimeConditions conditions;
  GpuActivity activity;
  std::string right;                     // "right", "wrong", or why it is not known
  std::string failure;                   // why there is no time; ""
  std::vector<std::string> dishonest;    // what speaks against the time
};

struct BenchReport {
  std::string task, gpu;
  bool warm = false;
  double copy_bytes_per_s = 0;           // measured: device to device, read and written counted; 0: not known
  double sheet_bytes_per_s = 0;          // the data sheet's DRAM rate
  std::vector<BenchRow> rows;            // by size, in the order of the candidates
  std::vector<std::string> warnings;
};

// Errors: bad_input (call, task, a candidate that does not build), missing (no GPU), failed.
Expected<BenchReport> bench(const BenchOptions& options);

std::string to_text(const BenchReport& report);    // a table
std::string to_json(const BenchReport& report);    // schema kforge.bench/1
std::string to_csv(const BenchReport& report);     // a header and a line a row (RFC 4180)

}  // namespace kforge
