#include "report/line_figures.h"

#include <fmt/format.h>

#include "evidence/metric.h"

namespace kforge {
namespace {

using evidence::Metric;

double value(const MetricValues& metrics, Metric metric) {
  const auto found = metrics.find(std::string(evidence::name(metric)));
  return found == metrics.end() ? 0 : static_cast<double>(found->second);
}

double ratio(const MetricValues& metrics, Metric over, Metric under) {
  const double below = value(metrics, under);
  return below > 0 ? value(metrics, over) / below : 1;
}

double share(const MetricValues& line, const MetricValues& all, Metric metric) { return value(all, metric) > 0 ? value(line, metric) / value(all, metric) : 0; }

std::string share_text(const MetricValues& line, const MetricValues& all, Metric metric) {
  const double part = share(line, all, metric);
  return part > 0 ? fmt::format("{:.1f}%", 100 * part) : "";
}

std::string times_text(const MetricValues& line, Metric over, Metric under) { return value(line, under) > 0 ? fmt::format("{:.2f}x", ratio(line, over, under)) : ""; }

// Hot lines and their limits, as the judge has them (contracts.md, "The table").
constexpr double kHot = 0.01, kHotInstructions = 0.1, kMostSectors = 1.25, kFewestLanes = 0.5;

bool no(const MetricValues&, const MetricValues&) { return false; }
bool wastes_lanes(const MetricValues& line, const MetricValues& all) { return share(line, all, Metric::inst_executed) >= kHotInstructions && lanes_active(line) < kFewestLanes; }
bool wastes_sectors(const MetricValues& line, const MetricValues& all) { return share(line, all, Metric::global_sectors) >= kHot && sectors_over_ideal(line) > kMostSectors; }
bool wastes_wavefronts(const MetricValues& line, const MetricValues& all) { return share(line, all, Metric::shared_wavefronts) >= kHot && wavefronts_over_ideal(line) > 1; }

constexpr report::LineColumn kColumns[] = {
    {"inst", "share of the issue slots (warp instructions)", [](const MetricValues& l, const MetricValues& a) { return share_text(l, a, Metric::inst_executed); }, no},
    {"lanes", "lanes active, of 32", [](const MetricValues& l, const MetricValues&) { return value(l, Metric::inst_executed) > 0 ? fmt::format("{:.1f}", 32 * lanes_active(l)) : ""; }, wastes_lanes},
    {"sectors", "share of the sectors of global memory", [](const MetricValues& l, const MetricValues& a) { return share_text(l, a, Metric::global_sectors); }, no},
    {"/ideal", "sectors over the fewest that would do", [](const MetricValues& l, const MetricValues&) { return times_text(l, Metric::global_sectors, Metric::global_sectors_ideal); }, wastes_sectors},
    {"banks", "share of the wavefronts of shared memory", [](const MetricValues& l, const MetricValues& a) { return share_text(l, a, Metric::shared_wavefronts); }, no},
    {"/ideal", "wavefronts over the fewest that would do", [](const MetricValues& l, const MetricValues&) { return times_text(l, Metric::shared_wavefronts, Metric::shared_wavefronts_ideal); }, wastes_wavefronts},
};

void add(MetricValues& to, const MetricValues& from) {
  for (const auto& [name, count] : from) to[name] += count;
}

}  // namespace

double sectors_over_ideal(const MetricValues& metrics) { return ratio(metrics, Metric::global_sectors, Metric::global_sectors_ideal); }
double wavefronts_over_ideal(const MetricValues& metrics) { return ratio(metrics, Metric::shared_wavefronts, Metric::shared_wavefronts_ideal); }
double lanes_active(const MetricValues& metrics) { return value(metrics, Metric::inst_executed) > 0 ? ratio(metrics, Metric::thread_inst_executed, Metric::inst_executed) / 32 : 1; }

std::span<const report::LineColumn> report::line_columns() { return kColumns; }

report::SourceFigures report::source_figures(std::span<const KernelFigures> kernels, const std::string& file) {
  SourceFigures out;
  for (const KernelFigures& kernel : kernels) {
    add(out.all, kernel.metrics);
    out.sampled = out.sampled || kernel.sampled;
    for (const LineFigures& line : kernel.lines)
      if (line.file == file && line.line > 0) add(out.lines[line.line], line.metrics);
  }
  return out;
}

}  // namespace kforge
