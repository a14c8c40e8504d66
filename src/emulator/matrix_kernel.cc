#include "emulator/matrix_kernel.h"

#include <algorithm>

#include "emulator/alu.h"
#include "emulator/matrix_shape.h"
#include "emulator/matrix_wide.h"

namespace kforge::emulator {

MatrixTile tile_beside(const MatrixTile& first, std::uint32_t index) {
  MatrixTile tile = first;
  tile.b += index * std::max(1u, first.k / (4 * elements_per_register(first.b_type)));
  tile.c += index * first.halves * (first.c_is_half ? 1 : 2);
  tile.d += index * first.halves * (first.d_is_half ? 1 : 2);
  return tile;
}

void multiply_tiles(const MatrixTile& first, std::uint32_t tiles) {
  for (std::uint32_t done = 0; done < tiles; ++done) {
    if (has_avx512()) done += avx512::multiply_tiles(tile_beside(first, done), tiles - done);
    if (done == tiles) return;
    const MatrixTile tile = tile_beside(first, done);
    has_avx2() ? avx2::multiply_tile(tile) : baseline::multiply_tile(tile);
  }
}

}  // namespace kforge::emulator
