// Times kernels of one task against each other on a real GPU: `kforge bench` as a function. They take turns, each in a process and a context of its
// own; outputs of timed calls are compared with the task's reference. It judges no contract: `check` does.
//
// On all GPUs of a machine ("gpu:all") the candidates are spread, and the first one and the baselines are timed on each: two figures are compared where they
// were taken on one GPU, and nowhere else.
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
  std::string device = "gpu";            // as CheckOptions, or "gpu:all"
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
  std::string device;                    // "gpu:1"
  double us = 0, p99_us = 0, spread = 0, interval = 0;
  double first_call_us = 0, launch_us = 0, graph_us = 0, back_to_back_us = 0, fresh_us = 0, empty_us = 0;
  double of_roofline = 0;                // what the measured ceilings need for its bytes and, of a product, its operations, over us; 0: not known
  bool host_bound = false;
  bool witnessed = false;         // outputs of bursts were read by a process without a candidate
  std::uint64_t samples = 0, discarded = 0, verified = 0;
  TimeConditions conditions;
  GpuActivity activity;
  std::string right;                     // "right", "wrong", or why it is not known
  std::string failure;                   // why there is no time; ""
  std::vector<std::string> dishonest;    // what speaks against the time
};

// The measured ceilings of one GPU; 0: not known.
struct BenchDevice {
  std::string device;                    // "gpu:1"
  double copy_bytes_per_s = 0, matrix_flops = 0;   // as BenchReport
};

struct BenchReport {
  std::string task, gpu;
  bool warm = false;
  double copy_bytes_per_s = 0;           // measured: device to device, read and written counted; 0: not known
  double sheet_bytes_per_s = 0;          // the data sheet's DRAM rate
  double matrix_flops = 0;               // measured: operations per second of cuBLASLt's product in f16 (where one is among the baselines); 0: not known
  double sheet_matrix_flops = 0;         // the data sheet's
  std::vector<BenchDevice> devices;      // that took part; the figures above are the first one's
  std::vector<BenchRow> rows;            // by size, then by device, in the order of the candidates
  std::vector<std::string> warnings;
};

// Errors: bad_input (call, task, a candidate that does not build), missing (no GPU), failed.
Expected<BenchReport> bench(const BenchOptions& options);

std::string to_text(const BenchReport& report);    // a table
std::string to_json(const BenchReport& report);    // schema kforge.bench/1
std::string to_csv(const BenchReport& report);     // a header and a line a row (RFC 4180)

}  // namespace kforge
