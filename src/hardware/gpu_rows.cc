#include "hardware/gpu_rows.h"

#include <fmt/format.h>

#include "base/text.h"
#include "hardware/roofline.h"

namespace kforge::hardware {
namespace {

std::string with_aliases(const GpuRow& row) {
  return row.aliases.empty() ? row.name : fmt::format("{} ({})", row.name, join(row.aliases, ", "));
}

std::string tensor_line(const DataSheet& sheet) {
  std::vector<std::string> parts;
  for (const auto& [type, ops] : sheet.tensor_ops)
    parts.push_back(fmt::format("{} {:.0f}", type, tensor_ops_per_s(sheet, type) / 1e12));
  return parts.empty() ? "none" : join(parts, ", ");
}

std::string line(std::string_view what, std::string_view text) { return fmt::format("{:<14}{}", what, text); }

}  // namespace

GpuRow gpu_row(const DataSheet& sheet) {
  GpuRow row;
  row.name = sheet.name;
  row.aliases = sheet_aliases(sheet.name);
  row.product = sheet.product;
  row.architecture = sheet.architecture;
  row.sm = sheet.sm();
  row.multiprocessors = sheet.multiprocessors;
  row.memory_bytes = sheet.memory_bytes;
  row.memory_type = sheet.memory_type;
  row.dram_bytes_per_s = sheet.dram_bytes_per_s;
  row.fp32_tflops = fp32_ops_per_s(sheet) / 1e12;
  row.f16_tensor_tflops = tensor_ops_per_s(sheet, "f16") / 1e12;
  row.untargetable = untargetable_reason(sheet);
  return row;
}

Expected<std::vector<GpuRow>> gpu_rows() {
  std::vector<GpuRow> rows;
  for (const std::string& name : sheet_names()) {
    auto sheet = find_sheet(name);
    if (!sheet) return Unexpected(sheet.error());
    rows.push_back(gpu_row(*sheet));
  }
  return rows;
}

std::vector<std::string> describe(const DataSheet& sheet) {
  GpuRow row = gpu_row(sheet);
  std::vector<std::string> lines = {
      line("name", with_aliases(row)),
      line("product", fmt::format("{}, {}, sm_{}", row.product, row.architecture, row.sm)),
      line("SMs", fmt::format("{} at {:.0f} MHz", row.multiprocessors, sheet.boost_mhz)),
      line("memory", fmt::format("{} {}, L2 {}", human_bytes(double(row.memory_bytes)), row.memory_type,
                                 human_bytes(double(sheet.l2_bytes)))),
      line("bandwidth", fmt::format("DRAM {:.0f} GB/s, L2 {:.0f} GB/s", row.dram_bytes_per_s / 1e9,
                                    sheet.l2_bytes_per_s / 1e9)),
      line("TFLOP/s", fmt::format("fp32 {:.1f}, fp64 {:.2f}", row.fp32_tflops,
                                  row.fp32_tflops * sheet.fp64_lanes / sheet.fp32_lanes)),
      line("tensor", fmt::format("{} (dense, TFLOP/s or TOP/s)", tensor_line(sheet))),
      line("per SM", fmt::format("{} warps, {} blocks, {} registers, {} shared ({} a block)", sheet.max_warps_per_sm,
                                 sheet.max_blocks_per_sm, sheet.registers_per_sm, human_bytes(sheet.shared_bytes_per_sm),
                                 human_bytes(sheet.shared_bytes_per_block_optin))),
      line("latency", fmt::format("DRAM {:.0f}, L2 {:.0f}, L1 {:.0f}, shared {:.0f} cycles", sheet.dram_latency,
                                  sheet.l2_latency, sheet.l1_latency, sheet.shared_latency)),
  };
  if (!row.untargetable.empty()) lines.push_back(line("not a target", row.untargetable));
  return lines;
}

}  // namespace kforge::hardware
