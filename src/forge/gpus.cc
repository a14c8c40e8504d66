// `gpus`: the data sheets as summaries.
#include "kforge/gpu.h"

#include "hardware/gpu_rows.h"

namespace kforge {
namespace {

GpuSummary summary(const hardware::DataSheet& sheet) {
  const hardware::GpuRow row = hardware::gpu_row(sheet);
  GpuSummary out;
  out.name = row.name;
  out.product = row.product;
  out.architecture = row.architecture;
  out.aliases = row.aliases;
  out.sm = row.sm;
  out.multiprocessors = row.multiprocessors;
  out.memory_gib = static_cast<double>(row.memory_bytes) / (1ull << 30);
  out.dram_gb_per_s = row.dram_bytes_per_s / 1e9;
  out.fp32_tflops = row.fp32_tflops;
  out.tensor_f16_tflops = row.f16_tensor_tflops;
  out.untargetable = row.untargetable;
  out.description = hardware::describe(sheet);
  return out;
}

}  // namespace

Expected<GpuSummary> gpu(const std::string& name) { return hardware::find_sheet(name).map(summary); }

Expected<std::vector<GpuSummary>> gpus() {
  std::vector<GpuSummary> all;
  for (const std::string& name : hardware::sheet_names()) {
    auto one = gpu(name);
    if (!one) return Unexpected(one.error());
    all.push_back(std::move(*one));
  }
  return all;
}

}  // namespace kforge
