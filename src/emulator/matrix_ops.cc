#include "emulator/matrix_ops.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "emulator/alu.h"
#include "emulator/formats.h"
#include "emulator/matrix_kernel.h"
#include "emulator/matrix_memory.h"
#include "emulator/matrix_shape.h"
#include "emulator/matrix_sparse.h"
#include "emulator/matrix_wide.h"
#include "emulator/registers.h"
#include "emulator/uninitialised.h"
#include "hardware/data_sheet.h"

namespace kforge::emulator {

using ptx::Exec;
using ptx::Type;

// All 32 lanes must be there: false when the group has to wait for others of them.
bool gather_warp(Warp& w, const Op& op, std::uint32_t mask) {
  if (mask == kFullMask) return true;
  if (!gather_lanes(w, op, mask, w.at(op.r[4]))) return false;
  report(w, op, mask, "safety.barriers", "partial-warp", [&](evidence::Violation& v) {
    v.message = fmt::format("a matrix operation of a whole warp is executed by {} of its 32 threads", std::popcount(mask));
    v.measured = fmt::format("{} threads", std::popcount(mask));
    v.required = "all 32 threads of the warp execute it together";
  });
  return true;
}

namespace {

struct Types { Type d, a, b, c; };

// mma writes all four types, wmma of f16 only those of D and C.
Types types_of(const ptx::Instruction& in) {
  if (in.type3 != Type::none) return {in.type, in.type2, in.type3, in.type4};
  return {in.type, Type::f16, Type::f16, in.type2};
}

// ---- undefined bytes ---------------------------------------------------------------------------------------------

// Rows of A, columns of B and elements of C that hold an undefined byte: an element of D is undefined when any of its own are.
struct Undefined {
  std::uint64_t rows = 0, columns = 0;
  OriginId origin = 0;
  void note(const UndefinedBytes& value) { if (origin == 0) origin = value.origin; }
};

void note_fragment(Warp& w, const ptx::Operand& operand, Fragment which, const MatrixShape& shape, Type type, Undefined& out) {
  const std::uint32_t count = std::min<std::uint32_t>(fragment_registers(which, shape, type), static_cast<std::uint32_t>(operand.elements.size()));
  for (std::uint32_t j = 0; j < count; ++j) {
    const UndefinedBytes* value = undefined_operand(w, operand.elements[j]);
    if (value == nullptr) continue;
    out.note(*value);
    for_lanes(value->any(), [&](std::uint32_t lane) {
      const FragmentPlace place = fragment_place(which, shape, type, j, lane);
      if (which == Fragment::a) out.rows |= std::uint64_t{1} << place.row;
      else out.columns |= std::uint64_t{1} << place.column;
    });
  }
}

void propagate_mma(Warp& w, const Op& op, const MatrixShape& shape, const Types& types, std::uint32_t mask) {
  const ptx::Instruction& in = *op.source;
  Undefined undefined;
  note_fragment(w, in.operands[1], Fragment::a, shape, types.a, undefined);
  note_fragment(w, in.operands[2], Fragment::b, shape, types.b, undefined);
  std::vector<UndefinedBytes> results(in.operands[0].elements.size());
  const bool c_is_d = elements_per_register(types.c) == elements_per_register(types.d);
  for (std::uint32_t j = 0; j < results.size(); ++j) {
    UndefinedBytes& result = results[j];
    const UndefinedBytes* c = c_is_d && j < in.operands[3].elements.size() ? undefined_operand(w, in.operands[3].elements[j]) : nullptr;
    if (c != nullptr) result = *c;
    const std::uint32_t elements = elements_per_register(types.d), bytes = std::max(4u, ptx::size_bytes(types.d));
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const FragmentPlace place = fragment_place(Fragment::c, shape, types.d, j, lane);
      for (std::uint32_t e = 0; e < elements; ++e) {
        if ((undefined.rows >> place.row & 1) == 0 && (undefined.columns >> (place.column + e) & 1) == 0) continue;
        for (std::uint32_t b = e * bytes / elements; b < (e + 1) * bytes / elements; ++b) result.lanes[b] |= 1u << lane;
      }
    }
    if (result.any() != 0 && result.origin == 0) result.origin = undefined.origin;
  }
  for (std::size_t j = 0; j < results.size(); ++j) assign_undefined(w, in.operands[0].elements[j], results[j], mask);
}

// m8n8k4 of f16: any undefined byte makes all undefined.
void propagate_everything(Warp& w, const Op& op, std::uint32_t mask) {
  UndefinedBytes all;
  bool found = false;
  for (std::size_t k = 1; k < op.source->operands.size(); ++k)
    for (const ptx::Operand& e : op.source->operands[k].elements)
      if (const UndefinedBytes* value = undefined_operand(w, e); value != nullptr) found = true, all.origin = value->origin;
  if (found)
    for (std::size_t b = 0; b < 4; ++b) all.lanes[b] = kFullMask;
  for (const ptx::Operand& e : op.source->operands[0].elements) assign_undefined(w, e, all, mask);
}

// ---- mma -----------------------------------------------------------------------------------------------------------

// `kOneTile`: 8 or 16 rows by 8 columns, which read all that they read before they write.
template <bool kOneTile>
Flow run_mma(Warp& w, const Op& op, std::uint32_t mask) {
  if (mask != kFullMask && !gather_warp(w, op, mask)) return Flow::regroup;
  const ptx::Instruction& in = *op.source;
  const MatrixShape shape = MatrixShape::unpack(op.target);
  const Types types = types_of(in);
  if (w.tainted) propagate_mma(w, op, shape, types, mask);
  MatrixTile tile;
  tile.halves = std::min(shape.m, 16u) / 8;
  tile.k = shape.k;
  tile.written = mask;
  tile.a_type = types.a;
  tile.b_type = types.b;
  tile.c_is_half = types.c == Type::f16;
  tile.d_is_half = types.d == Type::f16;
  tile.satfinite = in.mods.satfinite;
  if (types.a == Type::b1) tile.and_popc = in.mods.atom_op == ptx::AtomOp::and_ || in.mods.bool_op == ptx::BoolOp::and_ || has_word(in.mods.text, "and");
  tile.rounding = in.mods.rounding;
  if (types.a != Type::f64) tile.model = tensor_model(w.launch->sheet->sm(), types.a);
  const std::byte* registers[64];
  for (std::uint32_t i = 0; i < op.list_count; ++i) registers[i] = w.at(op.list[i]);
  const std::uint32_t count_d = op.bytes, count_a = op.wide, count_b = op.flags;
  const std::byte* const *a = registers + count_d, *const *b = a + count_a, *const *c = b + count_b;
  if constexpr (kOneTile) {
    std::byte* d[16];
    for (std::uint32_t i = 0; i < count_d; ++i) d[i] = w.at(op.list[i]);
    tile.a = a, tile.b = b, tile.c = c, tile.d = d;
    multiply_tiles(tile, 1);
    return Flow::next;
  }
  const std::uint32_t chunks = std::max(1u, shape.k / (4 * elements_per_register(types.a)));
  const std::uint32_t per_c = tile.halves * 2 / elements_per_register(types.c), per_d = tile.halves * 2 / elements_per_register(types.d);
  const std::uint32_t across = shape.n / 8, down = shape.m <= 16 ? 1 : shape.m / 16;
  const bool waits = op.immediate == 0;   // results wait until every tile has read its fragments
  const std::size_t slot_bytes = in.type == Type::f64 ? kWideSlot : kNarrowSlot;
  alignas(64) std::byte results[16][kWideSlot];
  std::byte* d[16];
  for (std::uint32_t i = 0; i < count_d; ++i) {
    d[i] = waits ? results[i] : w.at(op.list[i]);
    if (waits && mask != kFullMask) std::memcpy(results[i], registers[i], slot_bytes);
  }
  tile.b = b;
  for (std::uint32_t row = 0; row < down; ++row) {
    tile.a = a + row * tile.halves * chunks;
    tile.c = c + row * across * per_c;
    tile.d = d + row * across * per_d;
    multiply_tiles(tile, across);
  }
  for (std::uint32_t i = 0; waits && i < count_d; ++i) std::memcpy(w.at(op.list[i]), results[i], slot_bytes);
  return Flow::next;
}

// f64 where the machine has registers for it: all but NaN results, other roundings and parts of warps.
Flow run_mma_doubles(Warp& w, const Op& op, std::uint32_t mask) {
  if (mask != kFullMask || w.tainted) return run_mma<true>(w, op, mask);
  MatrixTile tile;
  const MatrixShape shape = MatrixShape::unpack(op.target);
  tile.halves = shape.m / 8;
  tile.k = shape.k;
  tile.rounding = op.source->mods.rounding;
  const std::byte* read[24];
  std::byte* d[4];
  const std::uint32_t count_d = op.bytes;
  for (std::uint32_t i = 0; i < count_d; ++i) d[i] = w.at(op.list[i]);
  for (std::uint32_t i = count_d; i < op.list_count; ++i) read[i - count_d] = w.at(op.list[i]);
  tile.a = read, tile.b = read + op.wide, tile.c = read + op.wide + op.flags, tile.d = d;
  const bool is_done = has_avx512() ? avx512::multiply_doubles(tile) : avx2::multiply_doubles(tile);
  return is_done ? Flow::next : run_mma<true>(w, op, mask);
}

// The old m8n8k4 of f16: four products of 8 x 8 x 4, each by two groups of four lanes (9.7.14.5.1).
struct Quad {
  float a[8][4], b[4][8], c[8][8];
};

Flow run_mma_quads(Warp& w, const Op& op, std::uint32_t mask) {
  if (!gather_warp(w, op, mask)) return Flow::regroup;
  const ptx::Instruction& in = *op.source;
  if (w.tainted) propagate_everything(w, op, mask);
  const bool c_half = in.type4 == Type::f16, d_half = in.type == Type::f16;
  const std::string_view layouts = in.mods.text;
  const bool a_row = layouts.starts_with("row"), b_row = layouts.ends_with("row");
  const std::uint32_t first_a = op.bytes, first_b = first_a + op.wide, first_c = first_b + op.flags;
  const TensorModel model = tensor_model(w.launch->sheet->sm(), Type::f16);
  const auto half = [&](std::uint32_t reg, std::uint32_t lane, std::uint32_t i) {
    return static_cast<float>(decode_format(get<std::uint32_t>(w.at(op.list[reg + i / 2]), lane) >> 16 * (i % 2) & 0xffff, kF16));
  };
  const auto place_c = [](bool is_half, std::uint32_t lane, std::uint32_t i) {
    const std::uint32_t low = lane < 16 ? 0 : 4;
    if (is_half) return FragmentPlace{lane % 4 + low, i};
    return FragmentPlace{(lane & 1) + (i & 2) + low, (i & 4) + (lane & 2) + (i & 1)};
  };
  Quad quads[4];
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    Quad& quad = quads[lane % 16 / 4];
    const std::uint32_t own = lane % 4 + (lane < 16 ? 0 : 4), shift = lane < 16 ? 0 : 4;
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (a_row) quad.a[own][i] = half(first_a, lane, i);
      else quad.a[i + shift][lane % 4] = half(first_a, lane, i);
      if (b_row) quad.b[lane % 4][i + shift] = half(first_b, lane, i);
      else quad.b[i][own] = half(first_b, lane, i);
    }
    for (std::uint32_t i = 0; i < 8; ++i) {
      const FragmentPlace at = place_c(c_half, lane, i);
      quad.c[at.row][at.column] = c_half ? half(first_c, lane, i) : get<float>(w.at(op.list[first_c + i]), lane);
    }
  }
  for (Quad& quad : quads)
    for (std::size_t r = 0; r < 8; ++r)
      for (std::size_t n = 0; n < 8; ++n) quad.c[r][n] = add_block(model, {quad.a[r], 1, Type::f16}, {&quad.b[0][n], 8, Type::f16}, 4, quad.c[r][n], d_half);
  for_lanes(mask, [&](std::uint32_t lane) {
    const Quad& quad = quads[lane % 16 / 4];
    std::uint32_t packed[4] = {};
    for (std::uint32_t i = 0; i < 8; ++i) {
      const FragmentPlace at = place_c(d_half, lane, i);
      const float value = quad.c[at.row][at.column];
      if (d_half) packed[i / 2] |= encode_format(value, kF16) << 16 * (i % 2);
      else put<float>(w.at(op.list[i]), lane, value);
    }
    for (std::uint32_t i = 0; d_half && i < 4; ++i) put<std::uint32_t>(w.at(op.list[i]), lane, packed[i]);
  });
  return Flow::next;
}

}  // namespace

bool writes_at_once(const std::vector<Ref>& list, std::size_t of_d, std::size_t of_a_and_b, std::size_t tiles) {
  if (tiles <= 1) return true;
  const std::size_t first_c = of_d + of_a_and_b, of_c = list.size() - first_c;
  for (std::size_t d = 0; d < of_d; ++d)
    for (std::size_t other = of_d; other < list.size(); ++other) {
      if (list[other].bank != list[d].bank || list[other].offset != list[d].offset) continue;
      if (other < first_c || (other - first_c) * tiles / of_c != d * tiles / of_d) return false;
    }
  return true;
}

bool is_matrix(Exec exec) {
  return exec == Exec::ldmatrix || exec == Exec::stmatrix || exec == Exec::movmatrix || exec == Exec::mma || exec == Exec::wmma_load || exec == Exec::wmma_store || exec == Exec::wmma_mma;
}

Handlers select_matrix(const ptx::Instruction& in, Exec exec) {
  if (exec != Exec::mma && exec != Exec::wmma_mma) return select_matrix_memory(in, exec);
  const MatrixShape shape = matrix_shape(in);
  if (shape.k == 0) return {};
  if (exec == Exec::mma && is_sparse(in)) return same(sparse_mma_handler());
  const bool quads = exec == Exec::mma && shape.m == 8 && shape.k == 4 && in.type2 == Type::f16;
  const bool doubles = in.type == Type::f64 && shape.n == 8 && shape.m <= 16 && has_wide();
  return same(quads ? &run_mma_quads : doubles ? &run_mma_doubles : shape.n == 8 && shape.m <= 16 ? &run_mma<true> : &run_mma<false>);
}

}  // namespace kforge::emulator
