// Blocks of timed calls, alike for candidates and for a loop outside that is timed in turns with them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "gpu/statistics.h"

namespace kforge::trial {

inline constexpr double kBlockUs = 4000;                              // of device time in one block: shorter than clocks take to follow the power that is drawn
inline constexpr std::size_t kFewestInBlock = 4, kMostInBlock = 16;   // calls

// How many calls of `us` microseconds make a block.
inline std::size_t calls_in_block(double us) { return std::clamp(static_cast<std::size_t>(kBlockUs / std::max(us, 1.0)), kFewestInBlock, kMostInBlock); }

// Whether the samples, in microseconds, give their median within the relative `interval`, or no more of them are taken.
inline bool median_is_known(const std::vector<double>& us, double interval) {
  constexpr std::size_t kFewestSamples = 30, kMostSamples = 4000;
  return us.size() >= kMostSamples || (us.size() >= kFewestSamples && gpu::median_interval(us) <= interval);
}

}  // namespace kforge::trial
