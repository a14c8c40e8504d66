// Texture fetches as most programs make them: one level, without offsets, no cube, of channels that are f32, integers, or unsigned
// integers read as [0, 1]. Where nothing observes. The numbers are those of texture_sample.h.
//
// What is the same for all lanes is worked out first (TexturePlan); the lanes are the work of texture_quick.inc, which is compiled with
// and without AVX2.
#pragma once

#include <array>

#include "emulator/handlers.h"
#include "emulator/texture.h"

namespace kforge::emulator {

struct TexturePlan {
  const std::byte* texels = nullptr;
  std::uint64_t row_bytes = 0, slice_bytes = 0;
  std::uint32_t texel_bytes = 4, channels = 1, channel_bytes = 4;
  std::size_t dimensions = 2;
  std::array<std::int32_t, 3> size{1, 1, 1};
  std::array<AddressMode, 3> mode{};
  std::uint32_t layers = 0;    // 0: has none
  bool integers = false;       // coordinates
  bool normalised = false;     // coordinates
  bool two = false;            // texels of each dimension are weighed
  bool floats = false;         // results
  bool is_signed = false;      // channels
  double top = 1;              // of unsigned integers that are read as [0, 1]
  std::array<float, 4> border{};
};

// False: none of those, texels that do not lie in one allocation, or coordinates of more than 1e9; nothing was changed.
bool fetch_quickly(Warp& warp, const Op& op, std::uint32_t lanes, const Texture& texture);

namespace baseline {
bool fetch_lanes(Warp& warp, const Op& op, std::uint32_t lanes, const TexturePlan& plan);
}
namespace avx2 {
bool fetch_lanes(Warp& warp, const Op& op, std::uint32_t lanes, const TexturePlan& plan);
}

}  // namespace kforge::emulator
