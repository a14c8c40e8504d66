#include "emulator/matrix_wide.h"

namespace kforge::emulator {

using ptx::Type;

bool has_avx512() {
  static const bool found = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return found;
}

bool has_avx2_fma() {
  static const bool found = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  return found;
}

bool knows(const MatrixTile& tile) {
  const bool bytes = (tile.a_type == Type::s8 || tile.a_type == Type::u8) && tile.k % 16 == 0;
  return bytes || tile.a_type == Type::f16 || tile.a_type == Type::bf16 || tile.a_type == Type::tf32 || tile.a_type == Type::f64;
}

}  // namespace kforge::emulator
