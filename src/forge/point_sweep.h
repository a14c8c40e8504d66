// The one sweep behind `sweep_parameters` of `kforge mcp` and the language models' tool `sweep`: points of a space are judged, each next one where what
// the ones before gave promises most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"
#include "propose/space.h"

namespace kforge::forge {

struct PointSweep {
  std::uint64_t seed = 1;
  std::size_t first = 0;           // the point to begin with
  std::size_t points = 16;         // judged at most
  std::size_t at_once = 1;         // judged before the next ones are chosen
};

// The time of each point in us, in the order of the points; 0 of one that is not accepted or has none.
using JudgePoints = std::function<Expected<std::vector<double>>(std::span<const std::size_t> points)>;

// None twice; fewer where the space has no more. Errors: those of `judge`.
Expected<void> sweep_points(const propose::Space& space, const PointSweep& sweep, const JudgePoints& judge);

}  // namespace kforge::forge
