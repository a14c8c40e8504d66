#include "forge/kernel_figures.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>

#include "evidence/stall_reason.h"
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

// The compiler writes paths in its own way; the candidate is known by its name, as findings know it.
std::string shown_file(const std::string& file, const std::string& candidate) { return fs::path(file).filename() == fs::path(candidate).filename() ? candidate : file; }

// Lines by the place that a finding would name: what was inlined at one line is summed there.
std::vector<LineFigures> lines_of(const evidence::KernelProfile& kernel, const std::string& candidate) {
  std::map<std::pair<std::string, std::uint32_t>, evidence::Counters> by_place;
  for (const evidence::LineProfile& line : kernel.lines) {
    const evidence::SourceFrame frame = line.position.line_in(candidate);
    by_place[{shown_file(frame.file, candidate), frame.line}] += line.counters;
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

// A kernel's name without parameters, spaces, and the types that ncu writes before template arguments: "void chained<(int)256, double>(T2 *, int)" and
// "chained<256, double>" are one.
std::string bare_name(std::string_view name) {
  constexpr std::string_view kReturns = "void ", kAnonymous = "(anonymous namespace)";
  if (name.starts_with(kReturns)) name.remove_prefix(kReturns.size());
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with(kAnonymous)) {
      out += kAnonymous;
      i += kAnonymous.size() - 1;
    } else if (name[i] == '(') {
      const std::size_t close = name.find(')', i);
      if (depth == 0 || close == std::string_view::npos) break;
      i = close;   // a cast
    } else if (name[i] != ' ') {
      depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
      out += name[i];
    }
  }
  return out;
}

std::string_view without_arguments(std::string_view bare) { return bare.substr(0, bare.find('<')); }

// The kernel of that name; where its template arguments are written in another way, the only one of its template.
KernelFigures* find_kernel(std::vector<KernelFigures>& kernels, const std::string& printed) {
  const std::string bare = bare_name(printed);
  KernelFigures* of_template = nullptr;
  int others = 0;
  for (KernelFigures& kernel : kernels) {
    const std::string known = bare_name(kernel.kernel);
    if (known == bare) return &kernel;
    if (without_arguments(known) != without_arguments(bare)) continue;
    of_template = &kernel;
    ++others;
  }
  return others == 1 ? of_template : nullptr;
}

}  // namespace

void add_stalls(std::vector<KernelFigures>& kernels, std::span<const gpu::KernelStalls> stalls, const std::string& candidate) {
  for (const gpu::KernelStalls& one : stalls) {
    KernelFigures* kernel = find_kernel(kernels, one.kernel);
    if (!kernel) {
      kernel = &kernels.emplace_back();
      kernel->kernel = one.kernel;
      kernel->source = evidence::name(evidence::Source::ncu);
    }
    for (const gpu::StalledLine& stalled : one.lines) {
      const std::string file = shown_file(stalled.file, candidate);
      auto line = std::find_if(kernel->lines.begin(), kernel->lines.end(), [&](const LineFigures& known) { return known.file == file && known.line == stalled.line; });
      if (line == kernel->lines.end()) line = kernel->lines.insert(line, LineFigures{file, stalled.line, {}});
      for (const auto& [reason, samples] : stalled.samples) {
        const auto count = static_cast<std::uint64_t>(samples);
        if (count == 0) continue;
        line->metrics[evidence::stall_metric(reason)] += count;
        kernel->metrics[evidence::stall_metric(reason)] += count;
      }
    }
    std::erase_if(kernel->lines, [](const LineFigures& line) { return line.metrics.empty(); });
    std::stable_sort(kernel->lines.begin(), kernel->lines.end(), [](const LineFigures& a, const LineFigures& b) { return std::tie(a.file, a.line) < std::tie(b.file, b.line); });
  }
}

std::vector<KernelFigures> figures_of(std::span<const evidence::KernelProfile> profiles, const std::string& candidate) {
  std::vector<KernelFigures> out;
  for (const evidence::KernelProfile& kernel : profiles) out.push_back(figures_of(kernel, candidate));
  std::stable_sort(out.begin(), out.end(), [](const KernelFigures& a, const KernelFigures& b) { return instructions(a) > instructions(b); });
  return out;
}

}  // namespace kforge::forge
