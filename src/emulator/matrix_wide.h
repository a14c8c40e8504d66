// Tiles of mma in 512-bit registers, for machines with AVX-512. Fragments stay as the registers have them: 16 lanes are 4 rows of A
// or of D by 4 lanes of a row; a value of A goes to the others of its row by a shuffle inside 128 bits, the columns of B come from one
// permutation. The numbers are those of matrix_numerics.h, as in matrix_kernel.h, which knows every case.
#pragma once

#include "emulator/matrix_kernel.h"

namespace kforge::emulator {

// AVX-512 F, BW, DQ and VL.
bool has_avx512();

namespace avx512 {
// Whether it multiplies such types at all.
bool knows(const MatrixTile& tile);
// How many of `tiles` with one A are done, up to the first whose types, blocks or values this way does not know. It knows f16 and bf16 in
// blocks of 8 or 16, tf32 in blocks of 8, with values of moderate size; 8-bit integers; f64 rounded to nearest without NaN results.
std::uint32_t multiply_tiles(const MatrixTile& first, std::uint32_t tiles);
// One of f64. False: nothing was written.
bool multiply_doubles(const MatrixTile& tile);
}  // namespace avx512

}  // namespace kforge::emulator
