#include "judge/mismatch_pattern.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace kforge::judge {
namespace {

constexpr std::array<std::int64_t, 5> kTiles{128, 64, 32, 16, 8};
constexpr std::array<std::int64_t, 6> kPeriods{64, 32, 16, 8, 4, 2};

std::string axis_name(std::size_t axis, std::size_t axes) {
  if (axes == 1) return "elements";
  if (axis + 1 == axes) return "columns";
  return axis + 2 == axes ? "rows" : fmt::format("indices of axis {}", axis);
}

// What holds of the wrong coordinates of one axis and not of all; "".
std::string axis_pattern(const std::set<std::int64_t>& wrong, std::int64_t extent, const std::string& name) {
  const std::int64_t first = *wrong.begin(), last = *wrong.rbegin();
  const auto count = static_cast<std::int64_t>(wrong.size());
  if (extent <= 1 || count == extent) return {};
  if (count == last - first + 1) {
    if (last == extent - 1)
      for (const std::int64_t tile : kTiles)
        if (first > 0 && first == extent / tile * tile) return fmt::format("{} {} to {}: the tail beyond a multiple of {}", name, first, last, tile);
    const std::string where = first == 0 ? ", at the beginning" : last == extent - 1 ? ", at the end" : "";
    return first == last ? fmt::format("{} {} alone{}", name, first, where) : fmt::format("{} {} to {}{}", name, first, last, where);
  }
  for (const std::int64_t period : kPeriods) {
    const auto same = [&](std::int64_t i) { return i % period == first % period; };
    if (count > 2 && std::all_of(wrong.begin(), wrong.end(), same)) return fmt::format("{} that are {} modulo {}", name, first % period, period);
  }
  return fmt::format("{} of {} {}, from {} to {}", count, extent, name, first, last);
}

}  // namespace

std::string mismatch_pattern(std::span<const std::int64_t> wrong, const std::vector<std::int64_t>& shape) {
  if (wrong.size() < 2 || shape.empty()) return {};
  std::vector<std::set<std::int64_t>> coordinates(shape.size());
  for (std::int64_t index : wrong)
    for (std::size_t axis = shape.size(); axis-- > 0; index /= std::max<std::int64_t>(shape[axis], 1)) coordinates[axis].insert(index % std::max<std::int64_t>(shape[axis], 1));
  std::string out;
  std::size_t box = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    box *= coordinates[axis].size();
    const std::string text = axis_pattern(coordinates[axis], shape[axis], axis_name(axis, shape.size()));
    if (!text.empty()) out += (out.empty() ? "" : "; ") + text;
  }
  if (out.empty()) return box == wrong.size() ? "" : fmt::format("{} elements scattered over all of it", wrong.size());
  return (box == wrong.size() ? "exactly " : "within ") + out + (wrong.size() >= kMismatchesKept ? " (of the first ones)" : "");
}

}  // namespace kforge::judge
