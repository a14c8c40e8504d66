#include "emulator/matrix_kernel.h"

#include <algorithm>

#include "emulator/alu.h"
#include "emulator/matrix_shape.h"
#include "emulator/matrix_wide.h"

namespace kforge::emulator {
namespace {

std::uint32_t multiply_wide(const MatrixTile& first, std::uint32_t tiles) { return has_avx512() ? avx512::multiply_tiles(first, tiles) : avx2::multiply_tiles(first, tiles); }

}  // namespace

TileStep::TileStep(const MatrixTile& tile)
    : b_(std::max(1u, tile.k / (4 * elements_per_register(tile.b_type)))), c_(tile.halves * (tile.c_is_half ? 1 : 2)), d_(tile.halves * (tile.d_is_half ? 1 : 2)) {}

void multiply_tiles(const MatrixTile& first, std::uint32_t tiles) {
  const bool asks = has_wide() && knows(first);
  std::uint32_t done = asks ? multiply_wide(first, tiles) : 0;
  if (done == tiles) return;
  const TileStep step(first);
  MatrixTile tile = first;
  for (;;) {
    for (std::uint32_t i = 0; i < done; ++i) step.advance(tile);
    // This one has values that the wide way does not know; the next one may have others.
    has_avx2() ? avx2::multiply_tile(tile) : baseline::multiply_tile(tile);
    tiles -= done + 1;
    if (tiles == 0) return;
    step.advance(tile);
    done = asks ? multiply_wide(tile, tiles) : 0;
    if (done == tiles) return;
  }
}

}  // namespace kforge::emulator
