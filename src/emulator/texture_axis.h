// One dimension of a texture fetch: which texels a coordinate means, and with which weights (CUDA programming guide, "Texture Fetching").
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "emulator/texture.h"

namespace kforge::emulator {

struct Ends {                      // one texel, or the two that a filter weighs
  std::array<std::int64_t, 2> index{};
  std::array<double, 2> weight{1, 0};
  std::uint32_t count = 1;
};

// REQUIRES: |x| < 2^62.
inline std::int64_t floor_of(double x) {
  const auto whole = static_cast<std::int64_t>(x);
  return whole - static_cast<std::int64_t>(static_cast<double>(whole) > x);
}

inline std::int64_t modulo(std::int64_t a, std::int64_t n) { return ((a % n) + n) % n; }

// The texel that stands for index i; -1: outside.
inline std::int64_t place(std::int64_t i, std::int64_t size, AddressMode mode) {
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case AddressMode::wrap: return modulo(i, size);
    case AddressMode::mirror: {
      const std::int64_t m = modulo(i, 2 * size);
      return m < size ? m : 2 * size - 1 - m;
    }
    case AddressMode::clamp: return std::clamp<std::int64_t>(i, 0, size - 1);
    case AddressMode::border: return -1;
  }
  return -1;
}

// A coordinate in texels. Whole periods are taken off first, so that what is far away keeps its fraction.
inline double in_texels(double at, double size, bool normalised, AddressMode mode) {
  if (at != at) return 0;
  constexpr double kFar = 1e12;
  if (!normalised) return std::clamp(at, -kFar, kFar);
  if (std::isfinite(at) && mode == AddressMode::wrap) at -= std::floor(at);
  if (std::isfinite(at) && mode == AddressMode::mirror) at -= 2 * std::floor(at / 2);
  return std::clamp(at * size, -kFar, kFar);
}

inline Ends ends_of(double texels, bool two) {
  Ends ends;
  if (!two) {
    ends.index[0] = floor_of(texels);
    return ends;
  }
  const std::int64_t fixed = floor_of((texels - 0.5) * 256 + 0.5);
  ends.count = 2;
  ends.index = {fixed >> 8, (fixed >> 8) + 1};
  ends.weight[1] = static_cast<double>(fixed & 255) / 256;
  ends.weight[0] = 1 - ends.weight[1];
  return ends;
}

}  // namespace kforge::emulator
