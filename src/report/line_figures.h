// The figures beside a line of source: which share of the kernels' work it does, and how well. `kforge profile` and the page of a run show the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kforge/profile.h"

namespace kforge::report {

struct LineColumn {
  const char* head;
  const char* meaning;          // for a legend
  std::string (*text)(const MetricValues& line, const MetricValues& all);   // "" where there is nothing to measure
  bool (*worth_a_look)(const MetricValues& line, const MetricValues& all);  // a hot line beyond what its contract asks for (contracts.md)
};
std::span<const LineColumn> line_columns();
// Places in line_columns() of those that have something to say of some line.
std::vector<std::size_t> telling_columns(std::span<const MetricValues* const> lines, const MetricValues& all);

// The lines of one file, all kernels together.
struct SourceFigures {
  MetricValues all;             // of the kernels, other files included
  std::map<std::uint32_t, MetricValues> lines;
  bool sampled = false;         // only some blocks ran: the shares hold, and no counter was the whole
};
std::vector<std::size_t> telling_columns(const SourceFigures& figures);
SourceFigures source_figures(std::span<const KernelFigures> kernels, const std::string& file);

}  // namespace kforge::report
