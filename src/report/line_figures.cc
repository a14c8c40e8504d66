#include "report/line_figures.h"

#include <algorithm>

#include <fmt/format.h>

#include "evidence/metric.h"
#include "evidence/stall_reason.h"
#include "judge/contract_table.h"
#include "judge/hot_line.h"

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

// A contract's limit for a hot line, where the task states none of its own.
double limit(std::string_view contract) { return judge::find_contract(contract)->default_threshold; }

double waits(const MetricValues& metrics) {
  double out = 0;
  for (const auto& [name, count] : metrics)
    if (const evidence::StallReason* reason = evidence::find_stall(name); reason ? reason->waits : name.starts_with(evidence::kStallPrefix)) out += static_cast<double>(count);
  return out;
}

std::string waits_text(const MetricValues& line, const MetricValues& all) {
  const double here = waits(line);
  return here > 0 && waits(all) > 0 ? fmt::format("{:.1f}%", 100 * here / waits(all)) : "";
}

// What the warps wait for most at this line.
std::string reason_text(const MetricValues& line, const MetricValues&) {
  std::uint64_t most = 0;
  std::string out;
  for (const auto& [name, count] : line) {
    if (!name.starts_with(evidence::kStallPrefix) || count <= most) continue;
    const evidence::StallReason* reason = evidence::find_stall(name);
    if (reason && !reason->waits) continue;
    most = count;
    out = reason ? std::string(reason->word) : name.substr(evidence::kStallPrefix.size());
  }
  return out;
}

bool no(const MetricValues&, const MetricValues&) { return false; }
bool wastes_lanes(const MetricValues& line, const MetricValues& all) { return share(line, all, Metric::inst_executed) >= judge::kHotDivergentLine && lanes_active(line) < judge::kHotLineLanes; }
bool wastes_sectors(const MetricValues& line, const MetricValues& all) { return share(line, all, Metric::global_sectors) >= judge::kHotLine && sectors_over_ideal(line) > limit("memory.coalescing"); }
bool wastes_wavefronts(const MetricValues& line, const MetricValues& all) { return share(line, all, Metric::shared_wavefronts) >= judge::kHotLine && wavefronts_over_ideal(line) > limit("shared.banks"); }

constexpr report::LineColumn kColumns[] = {
    {"inst", "share of the issue slots (warp instructions)", [](const MetricValues& l, const MetricValues& a) { return share_text(l, a, Metric::inst_executed); }, no},
    {"lanes", "lanes active, of 32", [](const MetricValues& l, const MetricValues&) { return value(l, Metric::inst_executed) > 0 ? fmt::format("{:.1f}", 32 * lanes_active(l)) : ""; }, wastes_lanes},
    {"sectors", "share of the sectors of global memory", [](const MetricValues& l, const MetricValues& a) { return share_text(l, a, Metric::global_sectors); }, no},
    {"/ideal", "sectors over the fewest that would do", [](const MetricValues& l, const MetricValues&) { return times_text(l, Metric::global_sectors, Metric::global_sectors_ideal); }, wastes_sectors},
    {"banks", "share of the wavefronts of shared memory", [](const MetricValues& l, const MetricValues& a) { return share_text(l, a, Metric::shared_wavefronts); }, no},
    {"/ideal", "wavefronts over the fewest that would do", [](const MetricValues& l, const MetricValues&) { return times_text(l, Metric::shared_wavefronts, Metric::shared_wavefronts_ideal); }, wastes_wavefronts},
    {"waits", "share of the samples in which warps waited (ncu)", waits_text, no},
    {"for", "what they wait for there most", reason_text, no},
};

void add(MetricValues& to, const MetricValues& from) {
  for (const auto& [name, count] : from) to[name] += count;
}

}  // namespace

double sectors_over_ideal(const MetricValues& metrics) { return ratio(metrics, Metric::global_sectors, Metric::global_sectors_ideal); }
double wavefronts_over_ideal(const MetricValues& metrics) { return ratio(metrics, Metric::shared_wavefronts, Metric::shared_wavefronts_ideal); }
double lanes_active(const MetricValues& metrics) { return value(metrics, Metric::inst_executed) > 0 ? ratio(metrics, Metric::thread_inst_executed, Metric::inst_executed) / 32 : 1; }

std::span<const report::LineColumn> report::line_columns() { return kColumns; }

std::vector<std::size_t> report::telling_columns(std::span<const MetricValues* const> lines, const MetricValues& all) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < line_columns().size(); ++i)
    if (std::any_of(lines.begin(), lines.end(), [&](const MetricValues* line) { return !line_columns()[i].text(*line, all).empty(); })) out.push_back(i);
  return out;
}

std::vector<std::size_t> report::telling_columns(const SourceFigures& figures) {
  std::vector<const MetricValues*> lines;
  for (const auto& [number, metrics] : figures.lines) lines.push_back(&metrics);
  return telling_columns(lines, figures.all);
}

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
