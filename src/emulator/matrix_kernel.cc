#include "emulator/matrix_kernel.h"

#include "emulator/alu.h"
#include "emulator/matrix_wide.h"

namespace kforge::emulator {

void multiply_tile(const MatrixTile& tile) {
  if (has_avx512() && avx512::multiply_tile(tile)) return;
  has_avx2() ? avx2::multiply_tile(tile) : baseline::multiply_tile(tile);
}

}  // namespace kforge::emulator
