// Which texels a texture instruction reads and how they are weighed (PTX manual, 9.7.10; CUDA Programming Guide, "Texture Fetching").
//
// Filtering: a coordinate less one half is rounded to the nearest 1/256, its fraction is the weight of the upper texel (the
// guide's 9-bit fixed point, 8 bits of fraction). The weighted sum is exact and rounded once to f32; a GPU may differ in the last bits.
#pragma once

#include <array>
#include <cstdint>

#include "emulator/texture.h"

namespace kforge::emulator {

enum class Geometry : std::uint8_t { d1, d2, d3, a1d, a2d, cube, acube };
inline constexpr bool has_layer(Geometry g) { return g == Geometry::a1d || g == Geometry::a2d || g == Geometry::acube; }
inline constexpr std::size_t dimensions(Geometry g) {
  return g == Geometry::d1 || g == Geometry::a1d ? 1 : g == Geometry::d2 || g == Geometry::a2d ? 2 : 3;
}

struct Lookup {
  Geometry geometry = Geometry::d2;
  bool integers = false;                       // coordinates are texel numbers: neither scaled nor filtered
  bool gathers = false;                        // tld4
  std::uint32_t layer = 0;
  std::array<double, 3> at{};
  double level = 0;                            // of detail, before the texture's bias and clamps
  std::array<std::int32_t, 3> offset{};        // texels
};

struct Tap {
  std::uint32_t level = 0;                     // of Texture::levels
  Address address = 0;                         // 0: outside, the border colour
  double weight = 1;
};
struct Taps {
  std::array<Tap, 16> tap{};
  std::uint32_t count = 0;
};

// In the order of weights; tld4: lower left, lower right, upper right, upper left. REQUIRES: the texture has a level.
Taps taps_of(const Texture& texture, const Lookup& lookup);
// log2 of the texels that a step covers, from the gradients of tex.grad (by x and by y).
double level_of_gradients(const Texture& texture, const Lookup& lookup, const std::array<double, 3>& dx, const std::array<double, 3>& dy);

// A face and a place on it, both coordinates in [0, 1].
struct CubePlace { std::uint32_t face = 0; double s = 0, t = 0; };
CubePlace cube_place(const std::array<double, 3>& direction);

// The 32-bit results of one lookup. `texels`: the bytes of each tap's texel, low ones first (ignored where the tap is outside).
using TexelBytes = std::array<std::uint8_t, 16>;
std::array<std::uint32_t, 4> filtered(const Texture& texture, const Taps& taps, const std::array<TexelBytes, 16>& texels);
// tld4: one channel of the four texels.
std::array<std::uint32_t, 4> gathered(const Texture& texture, const Taps& taps, const std::array<TexelBytes, 16>& texels, std::uint32_t channel);

}  // namespace kforge::emulator
