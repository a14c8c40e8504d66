#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "kforge/gpu.h"

namespace kforge::cli {
namespace {

nlohmann::ordered_json json(const GpuSummary& g) {
  return {{"name", g.name}, {"aliases", g.aliases}, {"product", g.product}, {"architecture", g.architecture}, {"sm", g.sm},
          {"multiprocessors", g.multiprocessors}, {"memory_gib", g.memory_gib}, {"dram_gb_per_s", g.dram_gb_per_s},
          {"fp32_tflops", g.fp32_tflops}, {"tensor_f16_tflops", g.tensor_f16_tflops}, {"untargetable", g.untargetable}};
}

void print_table(const std::vector<GpuSummary>& rows) {
  fmt::print("{:<10} {:<36} {:<10} {:>4} {:>4} {:>6} {:>6} {:>8} {:>11}\n", "name", "product", "arch", "sm", "SMs", "GiB", "GB/s", "TFLOP/s", "f16 tensor");
  for (const GpuSummary& g : rows)
    fmt::print("{:<10} {:<36} {:<10} {:>4} {:>4} {:>6.0f} {:>6.0f} {:>8.1f} {:>11.0f}{}\n", g.name, g.product, g.architecture, g.sm,
               g.multiprocessors, g.memory_gib, g.dram_gb_per_s, g.fp32_tflops, g.tensor_f16_tflops,
               g.untargetable.empty() ? "" : "  not a target of check");
}

int print_one(const GpuSummary& gpu, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", json(gpu).dump(2));
    return 0;
  }
  for (const std::string& line : gpu.description) fmt::print("{}\n", line);
  return 0;
}

}  // namespace

int run(const GpusArguments& arguments) {
  if (arguments.here) {
    std::vector<std::string> warnings;
    const auto sheet = this_gpu_sheet(arguments.index, warnings);
    if (!sheet) return report_error(sheet.error());
    for (const std::string& warning : warnings) fmt::print(stderr, "kforge: {}\n", warning);
    fmt::print("{}", *sheet);
    return 0;
  }
  if (!arguments.name.empty()) {
    const auto one = gpu_summary(arguments.name);
    return one ? print_one(*one, arguments.json) : report_error(one.error());
  }
  const auto rows = gpus();
  if (!rows) return report_error(rows.error());
  if (!arguments.json) {
    print_table(*rows);
    return 0;
  }
  auto out = nlohmann::ordered_json::array();
  for (const GpuSummary& row : *rows) out.push_back(json(row));
  fmt::print("{}\n", out.dump(2));
  return 0;
}

}  // namespace kforge::cli
