#include "judge/line_ratio.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "emulator/request.h"

namespace kforge::judge {
namespace {

using evidence::RequestExample;

std::uint32_t waste(const RequestExample& request) {
  return request.measured > request.ideal ? request.measured - request.ideal : 0;
}

// The commonest distance between neighbouring active lanes: the row pitch of a column access. 0: none.
std::uint32_t guess_pitch(const RequestExample& request) {
  std::map<std::uint64_t, int> counts;
  for (int lane = 1; lane < 32; ++lane) {
    const bool both = (request.active_mask >> lane & 1) && (request.active_mask >> (lane - 1) & 1);
    if (!both) continue;
    const std::uint64_t a = request.lane_addresses[lane - 1], b = request.lane_addresses[lane];
    const std::uint64_t distance = a > b ? a - b : b - a;
    if (distance > request.bytes_per_lane) ++counts[distance];
  }
  const auto most = std::max_element(counts.begin(), counts.end(), [](auto& x, auto& y) { return x.second < y.second; });
  return most == counts.end() || most->first > (1u << 20) ? 0 : static_cast<std::uint32_t>(most->first);
}

}  // namespace

std::vector<MergedLine> merge_lines(const evidence::KernelProfile& kernel, evidence::Metric numerator, evidence::Metric denominator,
                                    RequestExample evidence::LineProfile::*example, const std::string& candidate) {
  std::map<std::tuple<std::string, std::uint32_t>, MergedLine> merged;
  for (const evidence::LineProfile& line : kernel.lines) {
    const evidence::SourceFrame frame = line.position.line_in(candidate);
    MergedLine& entry = merged[{frame.file, frame.line}];
    if (entry.position.frames.empty()) entry.position = line.position;
    entry.numerator += line.counters[numerator];
    entry.denominator += line.counters[denominator];
    if (example && waste(line.*example) > waste(entry.example)) entry.example = line.*example;
  }
  const double total = static_cast<double>(kernel.totals[numerator]);
  std::vector<MergedLine> lines;
  for (auto& [place, line] : merged) {
    if (line.denominator == 0) continue;
    line.ratio = static_cast<double>(line.numerator) / static_cast<double>(line.denominator);
    line.share = total > 0 ? static_cast<double>(line.numerator) / total : 0;
    lines.push_back(std::move(line));
  }
  return lines;
}

const evidence::LineProfile& busiest_line(const evidence::KernelProfile& kernel) {
  return *std::max_element(kernel.lines.begin(), kernel.lines.end(), [](const auto& a, const auto& b) {
    return a.counters[evidence::Metric::inst_executed] < b.counters[evidence::Metric::inst_executed];
  });
}

std::vector<std::string> describe_request(const RequestExample& request, bool shared) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("first such request: block ({}, {}, {}), warp {}, {} bytes per lane, {} {} where {} would do",
                              request.block.x, request.block.y, request.block.z, request.warp, request.bytes_per_lane,
                              request.measured, shared ? "wavefronts" : "sectors", request.ideal));
  const auto lowest = *std::min_element(request.lane_addresses.begin(), request.lane_addresses.end(), [&](auto a, auto b) {
    return (a ? a : UINT64_MAX) < (b ? b : UINT64_MAX);
  });
  std::array<std::string, 32> entries;
  std::size_t width = 7;
  for (int lane = 0; lane < 32; ++lane) {
    const std::uint64_t address = request.lane_addresses[lane];
    if (!(request.active_mask >> lane & 1)) entries[lane] = "-";
    else if (shared) entries[lane] = fmt::format("{}:b{}", address, address / 4 % 32);
    else entries[lane] = fmt::format("+{}", address - lowest);
    width = std::max(width, entries[lane].size());
  }
  std::string row;
  for (int lane = 0; lane < 32; ++lane) {
    row += fmt::format(" {:>{}}", entries[lane], width);
    if (lane % 8 != 7) continue;
    lines.push_back(fmt::format("lanes {:>2}-{:<2}{}", lane - 7, lane, row));
    row.clear();
  }
  return lines;
}

std::optional<std::string> padding_advice(const RequestExample& request) {
  const std::uint32_t pitch = guess_pitch(request);
  if (pitch == 0) return std::nullopt;
  const emulator::ObservedRequest observed{request.lane_addresses, request.active_mask, request.bytes_per_lane};
  std::uint64_t base = UINT64_MAX;
  for (int lane = 0; lane < 32; ++lane)
    if (request.active_mask >> lane & 1) base = std::min(base, request.lane_addresses[lane]);
  const auto padding = emulator::smallest_padding(std::span(&observed, 1), base, pitch);
  if (!padding || *padding == 0) return std::nullopt;
  return fmt::format("pad each row of {} bytes by {} bytes (rows {} bytes apart): the observed request then has no conflict", pitch,
                     *padding, pitch + *padding);
}

}  // namespace kforge::judge
