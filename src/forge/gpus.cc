// `gpus`: the data sheets as summaries.
#include "kforge/gpu.h"

#include "gpu/this_sheet.h"
#include "hardware/gpu_rows.h"

namespace kforge {
namespace {

GpuSummary summary(const hardware::GpuRow& row) {
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
  return out;
}

}  // namespace

Expected<GpuSummary> gpu_summary(const std::string& name) {
  const auto sheet = hardware::find_sheet(name);
  if (!sheet) return Unexpected(sheet.error());
  GpuSummary out = summary(hardware::gpu_row(*sheet));
  out.description = hardware::describe(*sheet);
  return out;
}

Expected<std::string> this_gpu_sheet(unsigned index, std::vector<std::string>& warnings) {
  const auto driver = gpu::read_driver();
  if (!driver) return Unexpected(driver.error());
  const auto device = gpu::find_device(*driver, index);
  if (!device) return Unexpected(device.error());
  auto made = gpu::sheet_of(*device);
  if (!made) return Unexpected(made.error());
  warnings = std::move(made->warnings);
  return hardware::sheet_text(made->sheet);
}

Expected<std::vector<GpuSummary>> gpus() {
  const auto rows = hardware::gpu_rows();
  if (!rows) return Unexpected(rows.error());
  std::vector<GpuSummary> all;
  for (const hardware::GpuRow& row : *rows) all.push_back(summary(row));
  return all;
}

}  // namespace kforge
