#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "kforge/gpu.h"

namespace kforge::cli {
namespace {

nlohmann::ordered_json json(const GpuSummary& g) {
  return {{"name", g.name}, {"product", g.product}, {"architecture", g.architecture}, {"sm", g.sm}, {"multiprocessors", g.multiprocessors},
          {"max_warps_per_sm", g.max_warps_per_sm}, {"boost_mhz", g.boost_mhz}, {"memory_gib", g.memory_gib}, {"dram_gb_per_s", g.dram_gb_per_s},
          {"fp32_tflops", g.fp32_tflops}, {"tensor_f16_tflops", g.tensor_f16_tflops}, {"untargetable", g.untargetable}};
}

void print_table(const std::vector<GpuSummary>& rows) {
  fmt::print("{:<10} {:<34} {:<10} {:>5} {:>4} {:>8} {:>8} {:>8} {:>9}\n", "name", "product", "arch", "sm", "SMs", "GiB", "GB/s", "fp32 TF", "f16 TC TF");
  for (const GpuSummary& g : rows)
    fmt::print("{:<10} {:<34} {:<10} {:>5} {:>4} {:>8.0f} {:>8.0f} {:>8.1f} {:>9.0f}{}\n", g.name, g.product, g.architecture, g.sm, g.multiprocessors,
               g.memory_gib, g.dram_gb_per_s, g.fp32_tflops, g.tensor_f16_tflops, g.untargetable.empty() ? "" : "  (occupancy only)");
}

}  // namespace

int run(const GpusArguments& arguments) {
  std::vector<GpuSummary> rows;
  if (arguments.name.empty()) {
    rows = gpus();
  } else {
    const auto one = gpu(arguments.name);
    if (!one) return report_error(one.error());
    rows.push_back(*one);
  }
  if (arguments.json) {
    auto out = nlohmann::ordered_json::array();
    for (const GpuSummary& row : rows) out.push_back(json(row));
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  print_table(rows);
  for (const GpuSummary& row : rows)
    if (!arguments.name.empty() && !row.untargetable.empty()) fmt::print("check cannot target it: {}\n", row.untargetable);
  return 0;
}

}  // namespace kforge::cli
