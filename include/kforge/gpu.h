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
  std::vector<std::string> description;           // lines for people; of gpu_summary(), not of gpus()
};

// All built-in data sheets, in order of architecture.
Expected<std::vector<GpuSummary>> gpus();
// The data sheet of a GPU of this machine, as its driver tells it: TOML (docs/gpus.md). `warnings`: where it differs from the stored one. Errors:
// missing (no driver, no GPU), unsupported (no sheet of its compute capability), bad_input (no such index).
Expected<std::string> this_gpu_sheet(unsigned index, std::vector<std::string>& warnings);
// By name, alias, or path of a sheet. Errors: bad_input with the nearest known name.
Expected<GpuSummary> gpu_summary(const std::string& name);

}  // namespace kforge
