// A profile for people (kernels, then the source with figures beside its lines) and as JSON.
#include "kforge/profile.h"

#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "evidence/metric.h"
#include "evidence/stall_reason.h"
#include "gpu/counter_sets.h"
#include "report/json_parts.h"
#include "report/line_figures.h"
#include "report/style.h"

namespace kforge {
namespace {

using report::Colour;
using report::Painter;
using report::printable;
using Json = nlohmann::ordered_json;

using Columns = std::vector<std::size_t>;

std::string row(const Columns& columns, const MetricValues* line, const MetricValues& kernel) {
  std::string out;
  for (const std::size_t i : columns) out += fmt::format(" {:>8}", line ? report::line_columns()[i].text(*line, kernel) : "");
  return out;
}

std::string metric_lines(const MetricValues& metrics) {
  std::string out;
  for (const MetricInfo& info : profile_metrics())
    if (const auto found = metrics.find(info.name); found != metrics.end()) out += fmt::format("  {:<50} {:>16} {:<10} {}\n", info.name, found->second, info.unit, info.hint);
  return out;
}

std::string counter_lines(const HardwareCounters& counted) {
  std::string out = fmt::format("counted by ncu  {} [{}]{}\n", printable(counted.kernel), printable(counted.sizes), counted.suspect.empty() ? "" : ", suspected: " + counted.suspect);
  for (const auto& [name, value] : counted.metrics) {
    const MetricInfo info = hardware_metric(name);
    out += fmt::format("  {:<76} {:>14.6g} {:<9} {}\n", printable(name), value, info.unit, info.hint);
  }
  return out;
}

std::string listing(const Profile& profile, const KernelFigures& kernel, const Painter& paint) {
  std::map<std::uint32_t, const LineFigures*> by_line;
  std::string elsewhere;
  std::vector<const MetricValues*> counted;
  for (const LineFigures& line : kernel.lines) counted.push_back(&line.metrics);
  const Columns columns = report::telling_columns(counted, kernel.metrics);
  const auto source_lines = split_lines(profile.candidate_text);
  for (const LineFigures& line : kernel.lines) {
    if (line.file == profile.candidate && line.line > 0 && line.line <= source_lines.size()) by_line[line.line] = &line;
    else elsewhere += fmt::format("{}  {}:{}\n", row(columns, &line.metrics, kernel.metrics), line.file.empty() ? "(no line)" : printable(line.file), line.line);
  }
  std::string out, heads;
  for (const std::size_t i : columns) heads += fmt::format(" {:>8}", report::line_columns()[i].head);
  out += paint(Colour::dim, heads + "  line") + "\n";
  std::set<std::uint32_t> shown;   // lines that were counted, and two before each
  for (const auto& [number, line] : by_line)
    for (std::uint32_t i = number > 2 ? number - 2 : 1; i <= number; ++i) shown.insert(i);
  for (const std::uint32_t number : shown) {
    const auto line = by_line.find(number);
    const std::string text = fmt::format("{:>4} | {}", number, printable(source_lines[number - 1]));
    out += row(columns, line == by_line.end() ? nullptr : &line->second->metrics, kernel.metrics) + "  " + (line == by_line.end() ? paint(Colour::dim, text) : text) + "\n";
  }
  return out + elsewhere;
}

Json metrics_json(const MetricValues& metrics) {
  Json out = Json::object();
  for (const auto& [name, count] : metrics) out[name] = count;
  return out;
}

}  // namespace

MetricInfo hardware_metric(const std::string& name) {
  const gpu::CounterHint* known = gpu::find_counter(name);
  return known ? MetricInfo{std::string(known->metric), std::string(known->unit), std::string(known->words)} : MetricInfo{name, "", ""};
}

const std::vector<MetricInfo>& profile_metrics() {
  static const std::vector<MetricInfo> metrics = [] {
    std::vector<MetricInfo> out;
    for (const evidence::MetricRow& known : evidence::metric_table()) out.push_back({std::string(known.name), std::string(known.unit), std::string(known.hint)});
    for (const evidence::StallReason& reason : evidence::stall_reasons())
      if (out.empty() || out.back().name != reason.metric) out.push_back({std::string(reason.metric), "sample", "warps wait " + std::string(reason.words)});
    return out;
  }();
  return metrics;
}

std::string to_text(const Profile& profile, const TextOptions& options) {
  const Painter paint(options.colour);
  std::string out;
  for (const KernelFigures& kernel : profile.kernels) {
    out += paint(Colour::bold, printable(kernel.kernel)) + fmt::format("  {} launch{}, {}{}\n", kernel.launches, kernel.launches == 1 ? "" : "es", kernel.source, kernel.sampled ? ", some blocks only" : "");
    for (const std::string& shape : kernel.shapes) out += "  " + shape + "\n";
    for (const ResourceReport& used : profile.verdict.resources)
      if (used.kernel == kernel.kernel)
        out += fmt::format("  {} registers, {} bytes spilled, {} warps per SM (limited by {})\n", used.registers, used.spill_bytes, used.warps_per_sm, used.limiter);
    out += fmt::format("  sectors {:.2f} times the ideal, shared wavefronts {:.2f} times, {:.1f} of 32 lanes active\n", sectors_over_ideal(kernel.metrics), wavefronts_over_ideal(kernel.metrics), 32 * lanes_active(kernel.metrics));
    if (options.all_cases) out += metric_lines(kernel.metrics);
    out += "\n" + listing(profile, kernel, paint) + "\n";
  }
  const Verdict& verdict = profile.verdict;
  for (const HardwareCounters& counted : profile.counters) out += counter_lines(counted);
  for (const RungReport& rung : verdict.rungs)
    if (rung.name == "profile" && !rung.why.empty()) out += fmt::format("on the GPU  {}\n", printable(rung.why));
  if (profile.kernels.empty()) out += to_text(verdict.findings, options) + fmt::format("nothing was counted: {}\n", printable(verdict.why));   // the compiler's messages among them
  if (verdict.time) out += fmt::format("time  {:.4g} us, {}{}\n", verdict.time->us, verdict.time->source, verdict.time->bottleneck.empty() ? "" : "; " + printable(verdict.time->bottleneck));
  return out + fmt::format("{} {} on {}: {}\n", name(verdict.status), printable(profile.candidate), printable(profile.device), printable(verdict.why));
}

nlohmann::ordered_json report::kernels_json(const std::vector<KernelFigures>& kernels) {
  Json out = Json::array();
  for (const KernelFigures& kernel : kernels) {
    Json lines = Json::array();
    for (const LineFigures& line : kernel.lines) lines.push_back({{"file", line.file}, {"line", line.line}, {"metrics", metrics_json(line.metrics)}});
    out.push_back({{"kernel", kernel.kernel}, {"mangled", kernel.mangled}, {"launches", kernel.launches}, {"shapes", kernel.shapes}, {"sampled", kernel.sampled}, {"source", kernel.source},
                   {"metrics", metrics_json(kernel.metrics)}, {"lines", std::move(lines)}});
  }
  return out;
}

std::string to_json(const Profile& profile) {
  Json counters = Json::array();
  for (const HardwareCounters& counted : profile.counters)
    counters.push_back({{"kernel", counted.kernel}, {"sizes", counted.sizes}, {"suspect", counted.suspect}, {"metrics", counted.metrics}});
  const Json json = {{"schema", "kforge.profile/1"}, {"task", profile.task}, {"candidate", profile.candidate}, {"gpu", profile.gpu}, {"device", profile.device},
                     {"status", name(profile.verdict.status)}, {"why", profile.verdict.why}, {"kernels", report::kernels_json(profile.kernels)}, {"counters", std::move(counters)},
                     {"findings", report::verdict_json(profile.verdict)["findings"]}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kforge
