#include "emulator/matrix_sparse.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "emulator/formats.h"
#include "emulator/matrix_ops.h"
#include "emulator/matrix_memory.h"
#include "emulator/matrix_numerics.h"
#include "emulator/matrix_shape.h"
#include "emulator/uninitialised.h"
#include "hardware/data_sheet.h"

namespace kforge::emulator {
namespace {

using ptx::Type;

constexpr std::uint32_t kRows = 16, kColumns = 8, kMostK = 128;

struct Operands {
  std::uint32_t a[kRows][kMostK / 2] = {}, b[kMostK][kColumns] = {};
  std::uint8_t column[kRows][kMostK / 2] = {};   // of A's elements
};

std::uint32_t element_bits(Type type) { return type == Type::tf32 ? 32 : ptx::size_bits(type); }

std::uint32_t element_of(std::uint32_t word, std::uint32_t e, std::uint32_t bits) { return bits == 32 ? word : word >> bits * e & ((1u << bits) - 1); }

// Four bits for a chunk of a row.
std::uint32_t metadata(const Warp& w, const Op& op, Type type, std::uint32_t chunks, std::uint32_t row, std::uint32_t chunk) {
  const auto selector = static_cast<std::uint32_t>(op.immediate) & 3;
  const std::uint32_t upper = row / 8;
  std::uint32_t lane = selector, bit = 16 * upper + 4 * (chunk % 4);
  if (chunks == 8 && element_bits(type) >= 16) {
    lane = 2 * (selector & 1) + chunk / 4;
  } else if (chunks >= 8) {
    lane = (chunks == 8 ? 2 * (selector & 1) : 2 * (chunk / 8)) + upper;
    bit = 4 * (chunk % 8);
  }
  return get<std::uint32_t>(w.at(op.r[2]), 4 * (row % 8) + lane) >> bit & 15;
}

std::uint32_t column_of(const Warp& w, const Op& op, Type type, std::uint32_t k, std::uint32_t row, std::uint32_t j) {
  if (type == Type::tf32) return 2 * j + (metadata(w, op, type, k / 2, row, j) >> 1 & 1);
  const std::uint32_t group = element_bits(type) == 4 ? 2 : 1, at = j / group;   // elements that share an index
  const std::uint32_t chunk = at / 2, place = metadata(w, op, type, k / (4 * group), row, chunk) >> 2 * (at % 2) & 3;
  return (4 * chunk + place) * group + j % group;
}

void gather(const Warp& w, const Op& op, const MatrixShape& shape, Type a_type, Type b_type, Operands& x) {
  const MatrixShape compressed{kRows, kColumns, shape.k / 2};
  const std::uint32_t count_d = op.bytes, count_a = op.wide, count_b = op.flags;
  const auto each = [&](std::uint32_t first, std::uint32_t count, Fragment which, const MatrixShape& of, Type type, auto put_element) {
    for (std::uint32_t reg = 0; reg < count; ++reg)
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        const FragmentPlace place = fragment_place(which, of, type, reg, lane);
        const auto word = get<std::uint32_t>(w.at(op.list[first + reg]), lane);
        for (std::uint32_t e = 0; e < elements_per_register(type); ++e) put_element(place, e, element_of(word, e, element_bits(type)));
      }
  };
  each(count_d, count_a, Fragment::a, compressed, a_type, [&](FragmentPlace p, std::uint32_t e, std::uint32_t bits) { x.a[p.row][p.column + e] = bits; });
  each(count_d + count_a, count_b, Fragment::b, shape, b_type, [&](FragmentPlace p, std::uint32_t e, std::uint32_t bits) { x.b[p.row + e][p.column] = bits; });
  for (std::uint32_t row = 0; row < kRows; ++row)
    for (std::uint32_t j = 0; j < shape.k / 2; ++j) x.column[row][j] = static_cast<std::uint8_t>(column_of(w, op, a_type, shape.k, row, j));
}

float real(std::uint32_t bits, Type type) {
  switch (type) {
    case Type::f16: return static_cast<float>(decode_format(bits, kF16));
    case Type::bf16: return static_cast<float>(decode_format(bits, kBf16));
    case Type::e4m3: return static_cast<float>(decode_format(bits, kE4m3));
    case Type::e5m2: return static_cast<float>(decode_format(bits, kE5m2));
    default: return std::bit_cast<float>(bits & 0xffffe000u);   // tf32
  }
}

std::int64_t whole(std::uint32_t bits, Type type) {
  const std::uint32_t shift = 32 - element_bits(type);
  return ptx::is_signed(type) ? static_cast<std::int32_t>(bits << shift) >> shift : static_cast<std::int64_t>(bits);
}

std::uint32_t integer_sum(const Operands& x, const ptx::Instruction& in, std::uint32_t count, std::uint32_t row, std::uint32_t column, std::uint32_t c) {
  std::int64_t sum = static_cast<std::int32_t>(c);
  for (std::uint32_t j = 0; j < count; ++j) sum += whole(x.a[row][j], in.type2) * whole(x.b[x.column[row][j]][column], in.type3);
  if (in.mods.satfinite) sum = std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  return static_cast<std::uint32_t>(sum);
}

float real_sum(const Operands& x, const ptx::Instruction& in, const TensorModel& model, std::uint32_t count, std::uint32_t row, std::uint32_t column, float c) {
  float a[kMostK / 2], b[kMostK / 2];
  for (std::uint32_t j = 0; j < count; ++j) {
    a[j] = real(x.a[row][j], in.type2);
    b[j] = real(x.b[x.column[row][j]][column], in.type3);
  }
  for (std::uint32_t j = 0; j < count; j += model.width)
    c = add_block(model, {a + j, 1, in.type2}, {b + j, 1, in.type3}, std::min(model.width, count - j), c, in.type == Type::f16);
  return c;
}

void propagate(Warp& w, const Op& op, std::uint32_t mask) {   // any undefined byte makes all undefined
  UndefinedBytes all;
  const auto note = [&](const ptx::Operand& operand) {
    const UndefinedBytes* value = undefined_operand(w, operand);
    if (value == nullptr) return;
    all.origin = value->origin;
    for (std::size_t b = 0; b < 4; ++b) all.lanes[b] = kFullMask;
  };
  for (std::size_t k = 1; k < op.source->operands.size(); ++k) {
    note(op.source->operands[k]);
    for (const ptx::Operand& element : op.source->operands[k].elements) note(element);
  }
  for (const ptx::Operand& d : op.source->operands[0].elements) assign_undefined(w, d, all, mask);
}

Flow run_sparse(Warp& w, const Op& op, std::uint32_t mask) {
  if (!gather_warp(w, op, mask)) return Flow::regroup;
  const ptx::Instruction& in = *op.source;
  if (w.tainted) propagate(w, op, mask);
  const MatrixShape shape = MatrixShape::unpack(op.target);
  Operands x;
  gather(w, op, shape, in.type2, in.type3, x);
  const TensorModel model = tensor_model(w.launch->sheet->sm(), in.type2);
  const std::uint32_t count = shape.k / 2, first_c = op.bytes + op.wide + op.flags;
  const bool halves = in.type == Type::f16;
  std::uint32_t results[4][32];
  for (std::uint32_t reg = 0; reg < op.bytes; ++reg)
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const FragmentPlace place = fragment_place(Fragment::c, {kRows, kColumns, shape.k}, in.type, reg, lane);
      const auto c = get<std::uint32_t>(w.at(op.list[first_c + reg]), lane);
      std::uint32_t d = 0;
      if (!ptx::is_float(in.type)) d = integer_sum(x, in, count, place.row, place.column, c);
      else if (!halves) d = std::bit_cast<std::uint32_t>(real_sum(x, in, model, count, place.row, place.column, std::bit_cast<float>(c)));
      for (std::uint32_t e = 0; halves && e < 2; ++e)
        d |= encode_format(real_sum(x, in, model, count, place.row, place.column + e, static_cast<float>(decode_format(c >> 16 * e & 0xffff, kF16))), kF16) << 16 * e;
      results[reg][lane] = d;
    }
  for (std::uint32_t reg = 0; reg < op.bytes; ++reg) for_lanes(mask, [&](std::uint32_t lane) { put<std::uint32_t>(w.at(op.list[reg]), lane, results[reg][lane]); });
  return Flow::next;
}

}  // namespace

bool is_sparse(const ptx::Instruction& in) { return ptx::instruction_table()[in.form].id.starts_with("mma_sp"); }
Handler sparse_mma_handler() { return &run_sparse; }

}  // namespace kforge::emulator
