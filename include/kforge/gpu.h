// The GPUs that Kernel Forge knows, as a person or a program wants to list them.
#pragma once

#include <string>
#include <vector>

#include "kforge/error.h"

namespace kforge {

struct GpuSummary {
  std::string name, product, architecture;
  int sm = 0, multiprocessors = 0, max_warps_per_sm = 0;
  double boost_mhz = 0, memory_gib = 0, dram_gb_per_s = 0, fp32_tflops = 0, tensor_f16_tflops = 0;
  std::string untargetable;       // empty when `check` can target it
};

std::vector<GpuSummary> gpus();
Expected<GpuSummary> gpu(const std::string& name);

}  // namespace kforge
