// The arithmetic of one tile of mma: 8 or 16 rows by 8 columns, over fragments in registers (matrix_shape.h). Compiled for any x86-64
// and for AVX2; the numbers are those of matrix_numerics.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/matrix_numerics.h"
#include "ptx/module.h"

namespace kforge::emulator {

// Registers as 32 lanes of 32 bits (f64: 64 bits): halves x chunks of A, chunks of B, 2 x halves of C and D (f16: halves).
struct MatrixTile {
  const std::byte* const* a = nullptr;
  const std::byte* const* b = nullptr;
  const std::byte* const* c = nullptr;
  std::byte* const* d = nullptr;
  std::uint32_t halves = 2;      // rows / 8
  std::uint32_t k = 16;
  std::uint32_t written = 0xffffffffu;   // lanes whose D is written
  bool c_is_half = false, d_is_half = false, satfinite = false, and_popc = false;
  ptx::Type a_type = ptx::Type::none, b_type = ptx::Type::none;
  ptx::Rounding rounding = ptx::Rounding::none;
  TensorModel model;
};

// Floats that every sum of products of a tile has room for, as bits of a magnitude: 2^-36 to 2^50. Products are 2^-72 and more, and
// what is left of a sum that cancels 2^-97 and more.
inline constexpr std::int32_t kModerateLeast = 0x2d800000, kModerateSpan = 0x2b000000;

// `tiles` with one A side by side, with what this machine does best: the registers of B, C and D of each follow those of the one before.
void multiply_tiles(const MatrixTile& first, std::uint32_t tiles);
// Goes from tile to tile: how many registers each has is worked out once.
class TileStep {
 public:
  explicit TileStep(const MatrixTile& tile);
  void advance(MatrixTile& tile) const { tile.b += b_, tile.c += c_, tile.d += d_; }

 private:
  std::uint32_t b_, c_, d_;   // registers of a tile
};

namespace baseline {
void multiply_tile(const MatrixTile& tile);
}
namespace avx2 {
void multiply_tile(const MatrixTile& tile);
}

}  // namespace kforge::emulator
