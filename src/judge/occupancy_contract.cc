#include "judge/occupancy_contract.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "hardware/occupancy.h"
#include "judge/contract_table.h"
#include "judge/line_ratio.h"
#include "judge/modelled_time.h"

namespace kforge::judge {
namespace {

using evidence::KernelProfile;
using evidence::LaunchShape;
using evidence::Metric;

const build::KernelReport* find_report(const PerformanceInput& input, const std::string& kernel) {
  for (const build::KernelReport& report : *input.reports)
    if (report.kernel == kernel) return &report;
  return nullptr;
}

hardware::Occupancy launch_occupancy(const PerformanceInput& input, const build::KernelReport& report, const LaunchShape& shape) {
  hardware::KernelResources resources;
  resources.registers_per_thread = report.registers;
  resources.static_shared_bytes = report.static_shared_bytes;
  resources.dynamic_shared_bytes = static_cast<int>(shape.dynamic_shared_bytes);
  resources.threads_per_block = static_cast<int>(shape.block.count());
  return hardware::occupancy(*input.sheet, resources);
}

std::uint64_t warps_per_block(const LaunchShape& shape) { return (shape.block.count() + 31) / 32; }

// Little's law: warps whose loads in flight cover DRAM bandwidth times latency.
double little_warps(const PerformanceInput& input, const KernelProfile& kernel) {
  const double requests = static_cast<double>(kernel.totals[Metric::global_requests]);
  const double bytes = static_cast<double>(kernel.totals[Metric::global_load_bytes] + kernel.totals[Metric::global_store_bytes]);
  if (requests == 0 || bytes == 0) return 0;
  const double in_flight_per_warp = bytes / requests * std::max(1.0, kernel.independent_loads);
  return hardware::warps_to_cover_dram(*input.sheet, in_flight_per_warp);
}

// contracts.md: the smaller of the grid's own warps per SM, half the target's maximum, and Little's law; or min_warps.
double required_warps(const PerformanceInput& input, const KernelProfile& kernel, const LaunchShape& shape) {
  const double own = threshold(*input.task, "occupancy");
  if (own > 0) return own;
  const double grid = std::ceil(static_cast<double>(shape.grid.count() * warps_per_block(shape)) / input.sheet->multiprocessors);
  const double half = input.sheet->max_warps_per_sm / 2.0;
  return std::min({grid, half, little_warps(input, kernel)});
}

std::string measured_text(const hardware::Occupancy& found, const hardware::DataSheet& sheet) {
  return fmt::format("{} of {} warps per SM (limited by {})", found.warps_per_sm, sheet.max_warps_per_sm,
                     hardware::name(found.limiter));
}

void add_finding(const PerformanceInput& input, const KernelProfile& kernel, Level level, const std::string& text,
                 double required, FindingSet& findings) {
  const evidence::SourcePosition position = kernel.lines.empty() ? evidence::SourcePosition{} : kernel.lines.front().position;
  Finding finding = make_finding("occupancy", position, input.candidate);
  finding.severity = level == Level::required ? Severity::error : Severity::warning;
  finding.kernel = readable_kernel(kernel.kernel);
  finding.measured = text;
  finding.required = fmt::format("at least {:.0f} warps per SM", required);
  finding.message = fmt::format("too few resident warps to cover memory latency: {}", text);
  findings.add(std::move(finding));
}

}  // namespace

bool memory_bound(const PerformanceInput& input, const KernelProfile& kernel) {
  const auto work = kernel_work(input, kernel);
  return !work || hardware::memory_bound(*input.sheet, *work);   // not known: the stricter reading
}

Measurement judge_occupancy(const PerformanceInput& input, FindingSet& findings) {
  Measurement m;
  m.contract = "occupancy";
  m.level = Level::advice;
  m.larger_is_worse = false;
  m.text = "none";
  m.evidence = "ptxas";
  // The contract is required for memory-bound kernels only: they decide its level, and they alone fail it at that level.
  const bool any_bound = std::any_of(input.kernels->begin(), input.kernels->end(),
                                     [&](const KernelProfile& kernel) { return memory_bound(input, kernel); });
  if (any_bound) m.level = Level::required;
  double worst_margin = 0;
  for (const KernelProfile& kernel : *input.kernels) {
    const Level level = memory_bound(input, kernel) ? Level::required : Level::advice;
    const build::KernelReport* report = find_report(input, kernel.kernel);
    if (!report) {
      m.status = Status::unknown;
      m.text = "ptxas reported no resources for " + readable_kernel(kernel.kernel);
      return m;
    }
    for (const LaunchShape& shape : kernel.launches) {
      const hardware::Occupancy found = launch_occupancy(input, *report, shape);
      const double required = required_warps(input, kernel, shape);
      const double margin = found.warps_per_sm - required;
      const std::string text = measured_text(found, *input.sheet);
      if (margin < 0) add_finding(input, kernel, level, text, required, findings);
      if (level != m.level) continue;
      if (margin < 0) m.status = Status::failed;
      if (!m.measured || margin < worst_margin) {
        worst_margin = margin;
        m.value = found.warps_per_sm;
        m.text = text;
        m.required = fmt::format("at least {:.0f} warps per SM", required);
      }
      m.measured = true;
    }
  }
  return m;
}

std::vector<ResourceReport> resources(const PerformanceInput& input) {
  std::vector<ResourceReport> rows;
  std::vector<const KernelProfile*> kernels;
  for (const KernelProfile& kernel : *input.kernels) kernels.push_back(&kernel);
  std::stable_sort(kernels.begin(), kernels.end(), [](const KernelProfile* a, const KernelProfile* b) {
    return a->totals[Metric::inst_executed] > b->totals[Metric::inst_executed];
  });
  for (const KernelProfile* kernel : kernels) {
    const build::KernelReport* report = find_report(input, kernel->kernel);
    if (!report || kernel->launches.empty()) continue;
    const LaunchShape& shape = kernel->launches.front();
    const hardware::Occupancy found = launch_occupancy(input, *report, shape);
    ResourceReport row;
    row.kernel = readable_kernel(kernel->kernel);
    row.registers = report->registers;
    row.shared_bytes = report->static_shared_bytes + static_cast<int>(shape.dynamic_shared_bytes);
    row.spill_bytes = report->spill_store_bytes + report->spill_load_bytes;
    row.warps_per_sm = found.warps_per_sm;
    row.limiter = hardware::name(found.limiter);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace kforge::judge
