// A profile for people (kernels, then the source with figures beside its lines) and as JSON.
#include "kforge/profile.h"

#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "evidence/metric.h"
#include "report/json_parts.h"
#include "report/line_figures.h"
#include "report/style.h"

namespace kforge {
namespace {

using report::Colour;
using report::Painter;
using report::printable;
using Json = nlohmann::ordered_json;

std::string row(const MetricValues* line, const MetricValues& kernel) {
  std::string out;
  for (const report::LineColumn& column : report::line_columns()) out += fmt::format("{:>8}", line ? column.text(*line, kernel) : "");
  return out;
}

std::string metric_lines(const MetricValues& metrics) {
  std::string out;
  for (const MetricInfo& info : profile_metrics())
    if (const auto found = metrics.find(info.name); found != metrics.end()) out += fmt::format("  {:<50} {:>16} {:<10} {}\n", info.name, found->second, info.unit, info.hint);
  return out;
}

std::string listing(const Profile& profile, const KernelFigures& kernel, const Painter& paint) {
  std::map<std::uint32_t, const LineFigures*> by_line;
  std::string elsewhere;
  const auto source_lines = split_lines(profile.candidate_text);
  for (const LineFigures& line : kernel.lines) {
    if (line.file == profile.candidate && line.line > 0 && line.line <= source_lines.size()) by_line[line.line] = &line;
    else elsewhere += fmt::format("{}  {}:{}\n", row(&line.metrics, kernel.metrics), line.file.empty() ? "(no line)" : printable(line.file), line.line);
  }
  std::string out, heads;
  for (const report::LineColumn& column : report::line_columns()) heads += fmt::format("{:>8}", column.head);
  out += paint(Colour::dim, heads + "  line") + "\n";
  std::set<std::uint32_t> shown;   // lines that were counted, and two before each
  for (const auto& [number, line] : by_line)
    for (std::uint32_t i = number > 2 ? number - 2 : 1; i <= number; ++i) shown.insert(i);
  for (const std::uint32_t number : shown) {
    const auto line = by_line.find(number);
    const std::string text = fmt::format("{:>4} | {}", number, printable(source_lines[number - 1]));
    out += row(line == by_line.end() ? nullptr : &line->second->metrics, kernel.metrics) + "  " + (line == by_line.end() ? paint(Colour::dim, text) : text) + "\n";
  }
  return out + elsewhere;
}

Json metrics_json(const MetricValues& metrics) {
  Json out = Json::object();
  for (const auto& [name, count] : metrics) out[name] = count;
  return out;
}

}  // namespace

const std::vector<MetricInfo>& profile_metrics() {
  static const std::vector<MetricInfo> metrics = [] {
    std::vector<MetricInfo> out;
    for (const evidence::MetricRow& known : evidence::metric_table()) out.push_back({std::string(known.name), std::string(known.unit), std::string(known.hint)});
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
  if (profile.kernels.empty()) out += fmt::format("nothing was counted: {}\n", printable(verdict.why));
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
  const Json json = {{"schema", "kforge.profile/1"}, {"task", profile.task}, {"candidate", profile.candidate}, {"gpu", profile.gpu}, {"device", profile.device},
                     {"status", name(profile.verdict.status)}, {"why", profile.verdict.why}, {"kernels", report::kernels_json(profile.kernels)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kforge
