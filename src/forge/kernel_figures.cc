#include "forge/kernel_figures.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "judge/findings.h"

namespace kforge::forge {
namespace {

namespace fs = std::filesystem;

MetricValues values_of(const evidence::Counters& counters) {
  MetricValues out;
  for (const evidence::MetricRow& row : evidence::metric_table())
    if (counters[row.id] != 0) out[std::string(row.name)] = counters[row.id];
  return out;
}

std::string text_of(const evidence::LaunchShape& shape) {
  std::string out = fmt::format("grid {}x{}x{}, block {}x{}x{}", shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.block.y, shape.block.z);
  if (const auto shared = shape.static_shared_bytes + shape.dynamic_shared_bytes; shared > 0) out += fmt::format(", {} bytes shared", shared);
  return out;
}

// Lines by the place that a finding would name: what was inlined at one line is summed there.
std::vector<LineFigures> lines_of(const evidence::KernelProfile& kernel, const std::string& candidate) {
  std::map<std::pair<std::string, std::uint32_t>, evidence::Counters> by_place;
  for (const evidence::LineProfile& line : kernel.lines) {
    const evidence::SourceFrame frame = line.position.line_in(candidate);
    // The compiler writes paths in its own way; the candidate is known by its name, as findings know it.
    const bool ours = fs::path(frame.file).filename() == fs::path(candidate).filename();
    by_place[{ours ? candidate : frame.file, frame.line}] += line.counters;
  }
  std::vector<LineFigures> out;
  for (const auto& [place, counters] : by_place) out.push_back({place.first, place.second, values_of(counters)});
  return out;
}

KernelFigures figures_of(const evidence::KernelProfile& kernel, const std::string& candidate) {
  KernelFigures out;
  out.kernel = judge::readable_kernel(kernel.kernel);
  out.mangled = kernel.kernel;
  out.launches = kernel.launch_count;
  for (const evidence::LaunchShape& shape : kernel.launches) out.shapes.push_back(text_of(shape));
  out.sampled = kernel.sampled;
  out.source = std::string(evidence::name(kernel.source));
  out.metrics = values_of(kernel.totals);
  out.lines = lines_of(kernel, candidate);
  return out;
}

std::uint64_t instructions(const KernelFigures& kernel) {
  const auto found = kernel.metrics.find(std::string(evidence::name(evidence::Metric::inst_executed)));
  return found == kernel.metrics.end() ? 0 : found->second;
}

}  // namespace

std::vector<KernelFigures> figures_of(std::span<const evidence::KernelProfile> profiles, const std::string& candidate) {
  std::vector<KernelFigures> out;
  for (const evidence::KernelProfile& kernel : profiles) out.push_back(figures_of(kernel, candidate));
  std::stable_sort(out.begin(), out.end(), [](const KernelFigures& a, const KernelFigures& b) { return instructions(a) > instructions(b); });
  return out;
}

}  // namespace kforge::forge
