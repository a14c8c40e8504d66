// Tiles of mma in the registers of AVX-512 or AVX2, for machines that have these. Fragments stay as the registers of the GPU have them. The numbers are
// those of matrix_numerics.h, as in matrix_kernel.h, which knows every case.
#pragma once

#include "emulator/matrix_kernel.h"

namespace kforge::emulator {

// AVX-512 F, BW, DQ and VL.
bool has_avx512();
// AVX2, FMA and F16C.
bool has_avx2_fma();
inline bool has_wide() { return has_avx512() || has_avx2_fma(); }

// Whether such types are multiplied so at all.
bool knows(const MatrixTile& tile);

// multiply_tiles: how many of `tiles` with one A are done, up to the first whose types, blocks or values this way does not know. It knows f16 and bf16 in
// blocks of 8 or 16, tf32 in blocks of 8, with values of moderate size; 8-bit integers; f64 rounded to nearest without NaN results.
// multiply_doubles: one of f64. False: nothing was written.
namespace avx512 {
std::uint32_t multiply_tiles(const MatrixTile& first, std::uint32_t tiles);
bool multiply_doubles(const MatrixTile& tile);
}  // namespace avx512
namespace avx2 {
std::uint32_t multiply_tiles(const MatrixTile& first, std::uint32_t tiles);
bool multiply_doubles(const MatrixTile& tile);
}  // namespace avx2

}  // namespace kforge::emulator
