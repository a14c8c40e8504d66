// tex, tld4, txq, suld, sust, sured and suq: what decode.cc fills in.
//   tex, tld4   list: results (op.bytes), coordinates as written (op.wide), then what follows the brackets (op.flags), then offsets
//   suld, sust  list: data (op.flags of them, op.bytes each, op.wide: 64-bit slots), then coordinates
//   sured       the same, with one data register; txq, suq: r[0] the result
//   r[1]        the handle
//   immediate   TextureMode
#pragma once

#include <bit>

#include "emulator/handlers.h"
#include "emulator/texture_sample.h"

namespace kforge::emulator {

enum class TextureQuery : std::uint8_t {
  width, height, depth, channel_data_type, channel_order, normalized_coords, filter_mode, addr_mode_0, addr_mode_1, addr_mode_2,
  array_size, num_mipmap_levels, num_samples, memory_layout,
};

struct TextureMode {
  enum class How : std::uint8_t { base, level, grad, gather };
  enum class Outside : std::uint8_t { trap, clamp, zero };
  Geometry geometry = Geometry::d2;
  How how = How::base;
  Outside outside = Outside::trap;
  TextureQuery query = TextureQuery::width;
  bool integers = false;
  bool formatted = false;              // sust.p
  bool of_surface = false;             // suq
  std::uint8_t component = 0;          // tld4
};
static_assert(sizeof(TextureMode) == sizeof(std::int64_t));
inline TextureMode mode_of(const Op& op) { return std::bit_cast<TextureMode>(op.immediate); }
TextureMode texture_mode(const ptx::Instruction& instruction);

bool is_texture(ptx::Exec exec);
Handlers select_texture(ptx::Exec exec);

}  // namespace kforge::emulator
