// The lanes of a warp as a mask: bit i is lane i.
#pragma once

#include <bit>
#include <cstdint>

namespace kforge::emulator {

inline constexpr std::uint32_t kFullMask = 0xffffffffu;

// Calls f(lane) for each set bit, lowest first.
template <class F>
inline void for_lanes(std::uint32_t mask, F f) {
  if (mask == kFullMask) {
    for (std::uint32_t lane = 0; lane < 32; ++lane) f(lane);
    return;
  }
  for (; mask != 0; mask &= mask - 1) f(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

}  // namespace kforge::emulator
