// wgmma of the reference engine: each warp's 16 rows of the product by themselves, element by element, done at once. Where an element lies
// in shared memory follows the layouts of the manual's section on wgmma's shared memory: tiles of 8 rows by 16 bytes, or swizzled spans.
#include <cstring>
#include <string>

#include "emulator/reference_engine_matrix.h"
#include "emulator/reference_engine_thread.h"

namespace kforge::emulator::reference {

using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

namespace {

struct MatrixLayout {   // fields of a descriptor, in bytes
  std::uint64_t start, leading, stride, base, span;
};

MatrixLayout layout_of(std::uint64_t bits) {
  static constexpr std::uint64_t kSpans[] = {16, 128, 64, 32};
  return {(bits & 0x3fff) * 16, (bits >> 16 & 0x3fff) * 16, (bits >> 32 & 0x3fff) * 16, bits >> 49 & 7, kSpans[bits >> 62]};
}

// Offset of element (mn, k) of `size` bytes.
std::uint64_t place(const MatrixLayout& l, bool mn_major, std::uint64_t mn, std::uint64_t k, std::uint64_t size) {
  std::uint64_t at = l.start;
  if (mn_major) {
    const std::uint64_t byte = mn * size;
    if (l.span == 16) at += byte / 16 * l.stride + byte % 16 + k / 8 * l.leading + k % 8 * 16;
    else at += byte / l.span * l.leading + byte % l.span + k / 8 * l.stride + k % 8 * l.span;
  } else {
    const std::uint64_t byte = k * size;
    at += mn / 8 * l.stride + mn % 8 * l.span;
    at += l.span == 16 ? byte / 16 * l.leading + byte % 16 : byte;
  }
  at %= 0x40000;
  const std::uint64_t pieces = l.span / 16, line = (at / 128 - l.base) % pieces, piece = at / 16 % pieces;
  return at - piece * 16 + (piece ^ line) * 16;
}

std::uint64_t number_after(const std::string& text, char letter) { return std::stoull(text.substr(text.find(letter) + 1)); }

}  // namespace

void Run::warpgroup_product(std::vector<Thread*>& lanes, const Instruction& in) {
  const std::uint64_t columns = number_after(in.mods.text, 'n'), depth = number_after(in.mods.text, 'k');
  const MmaTypes types{in.type, in.type2, in.type3, in.type};
  const std::uint64_t size = types.a == Type::tf32 ? 4 : ptx::size_bytes(types.a), per_register = 4 / size;
  const bool from_registers = in.operands[1].kind == Operand::Kind::vector, halves = types.d == Type::f16;
  const auto immediate = [&](std::size_t i) { return i < in.operands.size() ? static_cast<std::int32_t>(in.operands[i].bits) : 0; };
  const bool a_transposed = !from_registers && immediate(6) == 1, b_transposed = immediate(from_registers ? 6 : 7) == 1;
  const bool adds = value(*lanes[0], in.operands[3], Type::pred) != 0;
  const std::uint64_t first_row = lanes[0]->index / 32 % 4 * 16;
  const auto in_shared = [&](const MatrixLayout& layout, bool transposed, std::uint64_t mn, std::uint64_t k) {
    const std::uint64_t at = place(layout, transposed, mn, k, size);
    std::uint64_t bits = 0;
    if (at + size > block().shared.size()) fail("wgmma reads outside shared memory");
    else std::memcpy(&bits, block().shared.data() + at, size);
    return bits;
  };
  const auto negated = [&](std::uint64_t bits, std::int32_t scale) { return scale < 0 ? bits ^ std::uint64_t{1} << (8 * size - 1) : bits; };
  std::vector<std::vector<std::uint64_t>> a(16, std::vector<std::uint64_t>(depth)), b(columns, std::vector<std::uint64_t>(depth));
  if (from_registers) {
    for (Thread* thread : lanes)
      for (std::uint64_t i = 0; i < 4 * per_register; ++i) {
        const std::uint64_t reg = i / per_register, row = thread->lane() / 4 + reg % 2 * 8, k = thread->lane() % 4 * per_register + i % per_register + reg / 2 * 4 * per_register;
        a[row][k] = cut(static_cast<std::uint64_t>(value(*thread, in.operands[1].elements[reg], Type::b32)) >> 8 * size * (i % per_register), static_cast<std::uint32_t>(8 * size));
      }
  } else {
    const MatrixLayout layout = layout_of(static_cast<std::uint64_t>(value(*lanes[0], in.operands[1], Type::b64)));
    for (std::uint64_t row = 0; row < 16; ++row)
      for (std::uint64_t k = 0; k < depth; ++k) a[row][k] = in_shared(layout, a_transposed, first_row + row, k);
  }
  const MatrixLayout layout = layout_of(static_cast<std::uint64_t>(value(*lanes[0], in.operands[2], Type::b64)));
  for (std::uint64_t column = 0; column < columns; ++column)
    for (std::uint64_t k = 0; k < depth; ++k) b[column][k] = negated(in_shared(layout, b_transposed, column, k), immediate(5));
  for (auto& row : a)
    for (std::uint64_t& bits : row) bits = negated(bits, immediate(4));
  for (Thread* thread : lanes)
    for (std::size_t reg = 0; reg < in.operands[0].elements.size(); ++reg) {
      const Operand& d = in.operands[0].elements[reg];
      const std::uint64_t old = static_cast<std::uint64_t>(value(*thread, d, Type::b32)), parts = halves ? 2 : 1;
      std::uint64_t result = 0;
      for (std::uint64_t part = 0; part < parts; ++part) {
        const std::uint64_t i = reg * parts + part, row = thread->lane() / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + thread->lane() % 4 * 2 + i % 2;
        const std::uint64_t c = adds ? halves ? old >> 16 * part & 0xffff : old : 0;
        result |= cut(one_element(in, types, a[row], b[column], c), halves ? 16 : 32) << 16 * part;
      }
      write(*thread, d, Type::b32, result);
    }
}

}  // namespace kforge::emulator::reference
