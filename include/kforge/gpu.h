// The GPUs that Kernel Forge knows, as a person or a program wants to list them.
#pragma once

#include <string>
#include <vector>

#include "kforge/error.h"

namespace kforge {

struct GpuSummary {
  std::string name, product, architecture;
  std::vector<std::string> aliases;
  int sm = 0, multiprocessors = 0;
  double memory_gib = 0, dram_gb_per_s = 0;
  double fp32_tflops = 0, tensor_f16_tflops = 0;  // at the boost clock, dense
  std::string untargetable;                       // empty when `check` can target it, else the reason
  std::vector<std::string> description;           // lines for people; of gpu(), not of gpus()
};

// All built-in data sheets, in order of architecture.
Expected<std::vector<GpuSummary>> gpus();
// By name, alias, or path of a sheet. Errors: bad_input with the nearest known name.
Expected<GpuSummary> gpu(const std::string& name);

}  // namespace kforge
