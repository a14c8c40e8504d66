// Shapes of warp-wide matrix instructions, and where each lane's registers lie in them (PTX manual, 9.7.14.4.1 and 9.7.14.5).
//
// All fragments of mma.sync but those of the old m8n8k4 of f16 follow one rule. With g = lane / 4 and t = lane % 4, and E elements in
// a register (1 of 32 or 64 bits, 2 of 16, 4 of 8, 8 of 4, 32 of 1), tiles of 16 (or 8) rows by 8 columns:
//   A  register j: row g + 8 (j % R), columns tE + 4E (j / R) ...    R = 2 where the tile has 16 rows, else 1
//   B  register j: column g, rows tE + 4Ej ...
//   C  registers 2h, 2h + 1: row g + 8h, columns 2t, 2t + 1           (f16: both in register h)
// wmma leaves its fragments open. Here they are mma's, tile after tile; fragments that are given more registers than they need
// (f16, as Volta wants them) repeat themselves.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx/module.h"
#include "ptx/table.h"

namespace kforge::emulator {

struct MatrixShape {
  std::uint32_t m = 0, n = 0, k = 0;
  std::uint32_t packed() const { return m | n << 8 | k << 16; }
  static MatrixShape unpack(std::uint32_t bits) { return {bits & 0xff, bits >> 8 & 0xff, bits >> 16}; }
};
// From the words of the instruction or of its row: "m16n8k16". All 0: there is none.
MatrixShape matrix_shape(const ptx::Instruction& instruction);
// Whether a dot-separated word was written.
bool has_word(std::string_view text, std::string_view word);

// Elements of a fragment's register: of A, B, and of f16 C.
inline std::uint32_t elements_per_register(ptx::Type type) {
  if (type == ptx::Type::tf32 || type == ptx::Type::f32 || type == ptx::Type::f64) return 1;
  if (type == ptx::Type::f16 || type == ptx::Type::bf16) return 2;
  const std::uint32_t bits = ptx::size_bits(type);
  return bits >= 32 ? 1 : 32 / bits;
}

enum class Fragment : std::uint8_t { a, b, c };
// The place of a register's first element; the others follow along the columns (B: the rows).
struct FragmentPlace { std::uint32_t row = 0, column = 0; };
// Registers that hold each element once.
std::uint32_t fragment_registers(Fragment which, const MatrixShape& shape, ptx::Type type);
FragmentPlace fragment_place(Fragment which, const MatrixShape& shape, ptx::Type type, std::uint32_t reg, std::uint32_t lane);

}  // namespace kforge::emulator
