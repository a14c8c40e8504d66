// The table that `kforge gpus` prints: one row for each data sheet, derived from the sheet alone. The command line lays
// it out; nothing is printed here.
#pragma once

#include <string>
#include <vector>

#include "hardware/data_sheet.h"

namespace kforge::hardware {

struct GpuRow {
  std::string name;                   // "a100-80"
  std::vector<std::string> aliases;   // {"a100"}
  std::string product;
  std::string architecture;
  int sm = 0;                         // 80
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
  std::string memory_type;
  double dram_bytes_per_s = 0;
  double fp32_tflops = 0;             // at the boost clock
  double f16_tensor_tflops = 0;       // dense, at the boost clock; 0: no tensor cores
  std::string untargetable;           // why `check` cannot use it, or empty
};

GpuRow gpu_row(const DataSheet& sheet);
// All built-in sheets in order of architecture. An error is a defect of the build: the tests read every sheet.
Expected<std::vector<GpuRow>> gpu_rows();

// The sheet in lines for people: name and product, SMs, memory, bandwidth, TFLOP/s, limits of an SM, latencies,
// and, where that is so, why it cannot be a target.
std::vector<std::string> describe(const DataSheet& sheet);

}  // namespace kforge::hardware
