// Matrix instructions of the reference engine: fragments are gathered into whole matrices by the manual's formulas (9.7.14), element by
// element, multiplied by the model of matrix_numerics.h in long double arithmetic, and scattered again. wmma's fragments, whose layout
// is open, hold their matrix in rows here: only what goes through memory can be compared with the fast executor.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "emulator/matrix_shape.h"
#include "emulator/reference_engine_matrix.h"
#include "emulator/reference_engine_thread.h"

namespace kforge::emulator::reference {

using ptx::Exec;
using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

namespace {

std::uint32_t bits_of(Type type) { return type == Type::tf32 ? 32 : ptx::size_bits(type); }
std::size_t per_register(Type type) { return bits_of(type) >= 32 ? 1 : 32 / bits_of(type); }

struct Place { std::size_t row, column; };

// Element i of a lane's fragment, as the figures of 9.7.14.5 have it.
Place place_a(const MatrixShape& s, Type type, std::size_t lane, std::size_t i) {
  const std::size_t group = lane >> 2, own = lane % 4, e = per_register(type), reg = i / e, within = i % e;
  if (s.m == 8) return {group, own * e + within + reg * 4 * e};
  return {reg % 2 == 0 ? group : group + 8, own * e + within + reg / 2 * 4 * e};
}
Place place_b(Type type, std::size_t lane, std::size_t i) {
  const std::size_t group = lane >> 2, own = lane % 4, e = per_register(type);
  return {own * e + i % e + i / e * 4 * e, group};
}
Place place_c(std::size_t lane, std::size_t i) { return {(lane >> 2) + (i < 2 ? 0 : 8), lane % 4 * 2 + i % 2}; }

// m8n8k4 of f16: rows and columns within the quad pair's own product (9.7.14.5.1).
Place quad_a(bool by_rows, std::size_t lane, std::size_t i) {
  const std::size_t upper = lane < 16 ? 0 : 4;
  return by_rows ? Place{lane % 4 + upper, i} : Place{i % 4 + upper, lane % 4};
}
Place quad_b(bool by_rows, std::size_t lane, std::size_t i) {
  const std::size_t upper = lane < 16 ? 0 : 4;
  return by_rows ? Place{lane % 4, i + upper} : Place{i, lane % 4 + upper};
}
Place quad_c(bool half, std::size_t lane, std::size_t i) {
  const std::size_t upper = lane < 16 ? 0 : 4;
  if (half) return {lane % 4 + upper, i};
  return {(lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)};
}

// wmma: element number n of the matrix in rows.
Place in_rows(std::size_t columns, std::size_t per_lane, std::size_t lane, std::size_t i) {
  const std::size_t n = lane * per_lane + i;
  return {n / columns, n % columns};
}

struct Model { std::size_t width; int fraction; };
// The table of matrix_numerics.h for sm_90, which this engine is.
Model model_of(Type a) {
  if (a == Type::e4m3 || a == Type::e5m2) return {32, 13};
  return a == Type::tf32 ? Model{8, 25} : Model{16, 25};
}

int least_exponent(Type type) { return type == Type::f16 || type == Type::e5m2 ? -14 : type == Type::e4m3 ? -6 : -126; }

float float_of(std::uint64_t bits, Type type) {
  if (type == Type::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (type == Type::tf32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits) & 0xffffe000u);
  return static_cast<float>(to_double(bits, format_of(type)));
}

// floor(log2 |x|), not below the format's smallest normal exponent.
int exponent(float x, int least) { return std::max(std::ilogb(x), least); }

std::uint64_t dot(Type a_type, Type b_type, Type d_type, const std::vector<float>& a, const std::vector<float>& b, float c) {
  const Model model = model_of(a_type);
  const int least_a = least_exponent(a_type), least_b = least_exponent(b_type);
  for (std::size_t first = 0; first < a.size(); first += model.width) {
    const std::size_t last = std::min(a.size(), first + model.width);
    float special = std::isfinite(c) ? 0 : c;
    int top = std::numeric_limits<int>::min();
    if (c != 0 && std::isfinite(c)) top = exponent(c, -126);
    for (std::size_t k = first; k < last; ++k) {
      const float product = a[k] * b[k];
      if (!std::isfinite(a[k]) || !std::isfinite(b[k])) special += product;
      else if (a[k] != 0 && b[k] != 0) top = std::max(top, exponent(a[k], least_a) + exponent(b[k], least_b));
    }
    if (special != 0) { c = special; continue; }
    if (top == std::numeric_limits<int>::min()) { c = 0; continue; }
    const auto units = [&](long double x) { return std::trunc(std::ldexp(x, model.fraction - top)); };
    long double sum = units(c);
    for (std::size_t k = first; k < last; ++k) sum += units(static_cast<long double>(a[k]) * b[k]);
    const long double exact_sum = std::ldexp(sum, top - model.fraction);
    Exact value;
    value.negative = exact_sum < 0;
    int power = 0;
    const long double fraction = std::frexp(std::fabs(exact_sum), &power);
    value.add_scaled(static_cast<Wide>(std::ldexp(fraction, 60)), power - 60);
    const bool half = d_type == Type::f16;
    std::uint64_t bits = round(value, format_of(d_type), half ? ptx::Rounding::rn : ptx::Rounding::rz);
    if (!half && std::fabs(exact_sum) >= 0x1p128L) bits = format_of(d_type).infinity() | (value.negative ? format_of(d_type).sign_bit() : 0);
    c = float_of(bits, d_type);
  }
  if (c != c) return format_of(d_type).nan;
  const Format& f = format_of(d_type);
  if (std::isinf(c)) return f.infinity() | (c < 0 ? f.sign_bit() : 0);
  return d_type == Type::f16 ? round(exact(decode(std::bit_cast<std::uint32_t>(c), format_of(Type::f32))), f, ptx::Rounding::rn) : std::bit_cast<std::uint32_t>(c);
}

std::uint64_t integer_dot(const Instruction& in, Type a_type, Type b_type, const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b, std::uint64_t c) {
  Int sum = value_of(c, Type::s32);
  const bool is_and = has_word(in.mods.text, "and") || in.mods.bool_op == ptx::BoolOp::and_ || in.mods.atom_op == ptx::AtomOp::and_;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a_type == Type::b1) sum += is_and ? (a[k] & b[k]) : (a[k] ^ b[k]);
    else sum += value_of(a[k], a_type) * value_of(b[k], b_type);
  }
  return static_cast<std::uint64_t>(in.mods.satfinite ? std::clamp(sum, lowest(Type::s32), highest(Type::s32)) : sum);
}

MmaTypes types_of(const Instruction& in) {
  if (in.type3 != Type::none) return {in.type, in.type2, in.type3, in.type4};
  return {in.type, Type::f16, Type::f16, in.type2};
}

// The column of each element of a row of mma.sp's A (9.7.14.6.1). word(t): the metadata of thread t of the row's quad.
template <class Word>
std::vector<std::size_t> sparse_columns(const Instruction& in, std::size_t k, bool upper, std::size_t selector, Word word) {
  const std::uint32_t bits = bits_of(in.type2);
  const std::size_t chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4, chunks = k / chunk;
  std::vector<std::uint32_t> indices;   // four bits a chunk
  for (std::size_t i = 0; i < chunks; ++i) {
    std::uint32_t four = 0;
    if (chunks == 4) four = word(selector) >> (upper ? 16 : 0) >> 4 * i;
    else if (chunks == 8 && bits >= 16) four = word(2 * selector + (i >= 4 ? 1 : 0)) >> (upper ? 16 : 0) >> 4 * (i % 4);
    else if (chunks == 8) four = word(2 * selector + (upper ? 1 : 0)) >> 4 * i;
    else four = word((upper ? 1 : 0) + (i >= 8 ? 2 : 0)) >> 4 * (i % 8);
    indices.push_back(four & 15);
  }
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < chunks; ++i) {
    if (bits == 32) { columns.push_back(2 * i + (indices[i] == 0b1110 ? 1 : 0)); continue; }
    for (const std::uint32_t place : {indices[i] & 3, indices[i] >> 2}) {
      if (bits == 4) columns.push_back(8 * i + 2 * place), columns.push_back(8 * i + 2 * place + 1);
      else columns.push_back(4 * i + place);
    }
  }
  return columns;
}

using Matrix = std::vector<std::vector<std::uint64_t>>;
Matrix matrix_of(std::size_t rows, std::size_t columns) { return Matrix(rows, std::vector<std::uint64_t>(columns)); }

}  // namespace

std::uint64_t one_element(const Instruction& in, const MmaTypes& types, const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b, std::uint64_t c) {
  if (types.a == Type::f64) {
    for (std::size_t k = 0; k < a.size(); ++k) {
      const std::uint64_t x[3] = {a[k], b[k], c};
      c = fused(x[0], x[1], x[2], format_of(Type::f64), in.mods.rounding);
      if (!is_nan(c, format_of(Type::f64))) continue;
      c = 0xfff8000000000000u;
      for (const std::size_t i : {0u, 2u, 1u})
        if (is_nan(x[i], format_of(Type::f64))) c = x[i] | std::uint64_t{1} << 51;
    }
    return c;
  }
  if (!ptx::is_float(types.a)) return integer_dot(in, types.a, types.b, a, b, c);
  std::vector<float> x, y;
  for (const std::uint64_t bits : a) x.push_back(float_of(bits, types.a));
  for (const std::uint64_t bits : b) y.push_back(float_of(bits, types.b));
  return dot(types.a, types.b, types.d, x, y, float_of(c, types.c));
}

std::uint64_t Run::fragment(Thread& thread, const Operand& operand, Type type, std::size_t i) {
  const std::size_t e = per_register(type);
  const auto bits = static_cast<std::uint64_t>(value(thread, operand.elements[i / e], bits_of(type) == 64 ? Type::b64 : Type::b32));
  return bits_of(type) >= 32 ? bits : cut(bits >> bits_of(type) * (i % e), bits_of(type));
}

void Run::multiply(std::vector<Thread*>& lanes, const Instruction& in, bool is_wmma) {
  const MatrixShape s = matrix_shape(in);
  const MmaTypes types = types_of(in);
  const bool quads = !is_wmma && s.m == 8 && s.k == 4 && types.a == Type::f16;
  const bool a_rows = in.mods.text.starts_with("row"), b_rows = in.mods.text.ends_with("row");
  const std::size_t products = quads ? 4 : 1;
  const bool sparse = ptx::instruction_table()[in.form].id.starts_with("mma_sp");
  const std::size_t k_of_a = sparse ? s.k / 2 : s.k;
  std::vector<Matrix> a(products, matrix_of(s.m, k_of_a)), b(products, matrix_of(s.k, s.n)), c(products, matrix_of(s.m, s.n));
  const auto count = [&](std::size_t rows, std::size_t columns) { return rows * columns * products / 32; };
  const auto where_c = [&](Type type, std::size_t lane, std::size_t i) {
    if (is_wmma) return in_rows(s.n, count(s.m, s.n), lane, i);
    return quads ? quad_c(type == Type::f16, lane, i) : place_c(lane, i);
  };
  for (Thread* thread : lanes) {
    const std::size_t lane = thread->lane(), product = quads ? lane % 16 / 4 : 0;
    for (std::size_t i = 0; i < count(s.m, k_of_a); ++i) {
      const Place at = is_wmma ? in_rows(s.k, count(s.m, s.k), lane, i) : quads ? quad_a(a_rows, lane, i) : place_a(s, types.a, lane, i);
      a[product][at.row][at.column] = fragment(*thread, in.operands[1], types.a, i);
    }
    for (std::size_t i = 0; i < count(s.k, s.n); ++i) {
      const Place at = is_wmma ? in_rows(s.n, count(s.k, s.n), lane, i) : quads ? quad_b(b_rows, lane, i) : place_b(types.b, lane, i);
      b[product][at.row][at.column] = fragment(*thread, in.operands[2], types.b, i);
    }
    for (std::size_t i = 0; i < count(s.m, s.n); ++i) {
      const Place at = where_c(types.c, lane, i);
      c[product][at.row][at.column] = fragment(*thread, in.operands[3], types.c, i);
    }
  }
  for (std::size_t product = 0; product < products; ++product)
    for (std::size_t row = 0; row < s.m; ++row)
      for (std::size_t column = 0; column < s.n; ++column) {
        std::vector<std::uint64_t> along(s.k);
        for (std::size_t k = 0; k < s.k; ++k) along[k] = b[product][k][column];
        if (sparse) {
          const auto word = [&](std::size_t t) { return static_cast<std::uint32_t>(value(*lanes[4 * (row % 8) + t], in.operands[4], Type::b32)); };
          const std::vector<std::size_t> columns = sparse_columns(in, s.k, row >= 8, static_cast<std::size_t>(in.operands[5].bits), word);
          const std::vector<std::uint64_t> dense = along;
          along.resize(k_of_a);
          for (std::size_t k = 0; k < k_of_a; ++k) along[k] = dense[columns[k]];
        }
        c[product][row][column] = one_element(in, types, a[product][row], along, c[product][row][column]);
      }
  const std::size_t e = per_register(types.d);
  for (Thread* thread : lanes) {
    const std::size_t lane = thread->lane(), product = quads ? lane % 16 / 4 : 0;
    for (std::size_t reg = 0; reg < in.operands[0].elements.size(); ++reg) {
      std::uint64_t bits = 0;
      for (std::size_t k = 0; k < e; ++k) {
        const Place at = where_c(types.d, lane, reg * e + k);
        bits |= c[product][at.row][at.column] << 16 * k;
      }
      write(*thread, in.operands[0].elements[reg], bits_of(types.d) == 64 ? Type::b64 : Type::b32, bits);
    }
  }
}

// ldmatrix and stmatrix: row r of matrix j is at the address of lane 8j + r; lane 4r + c holds elements (r, 2c) and (r, 2c + 1), transposed
// (2c, r) and (2c + 1, r).
void Run::move_matrices(std::vector<Thread*>& lanes, const Instruction& in, bool load) {
  const Operand& registers = in.operands[load ? 0 : 1];
  const bool transposed = has_word(in.mods.text, "trans");
  std::vector<std::uint64_t> results(32 * registers.elements.size());
  for (std::size_t j = 0; j < registers.elements.size(); ++j)
    for (std::size_t lane = 0; lane < 32; ++lane)
      for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t row = transposed ? lane % 4 * 2 + i : lane / 4, column = transposed ? lane / 4 : lane % 4 * 2 + i;
        std::byte* at = locate(*lanes[8 * j + row], in, in.operands[load ? 1 : 0], 16);
        if (at == nullptr) return fail("a matrix row outside memory or misaligned");
        std::uint16_t half = 0;
        if (load) {
          std::memcpy(&half, at + 2 * column, 2);
          results[32 * j + lane] |= std::uint64_t{half} << 16 * i;
        } else {
          half = static_cast<std::uint16_t>(value(*lanes[lane], registers.elements[j], Type::b32) >> 16 * i);
          std::memcpy(at + 2 * column, &half, 2);
        }
      }
  for (std::size_t j = 0; load && j < registers.elements.size(); ++j)
    for (std::size_t lane = 0; lane < 32; ++lane) write(*lanes[lane], registers.elements[j], Type::b32, results[32 * j + lane]);
}

void Run::move_tile(std::vector<Thread*>& lanes, const Instruction& in, bool load) {
  const MatrixShape s = matrix_shape(in);
  const Operand& registers = in.operands[load ? 0 : 1];
  const std::string_view text = in.mods.text;
  const bool is_a = load && has_word(text, "a"), is_b = load && has_word(text, "b"), by_rows = has_word(text, "row");
  const std::size_t rows = is_b ? s.k : s.m, columns = is_a ? s.k : s.n, bits = bits_of(in.type), e = per_register(in.type);
  const std::size_t per_lane = rows * columns / 32;
  for (Thread* thread : lanes) {
    const std::uint64_t stride = in.operands.size() > 2 ? static_cast<std::uint64_t>(value(*thread, in.operands[2], Type::u32)) : by_rows ? columns : rows;
    std::vector<std::uint64_t> packed(registers.elements.size());
    for (std::size_t i = 0; i < per_lane; ++i) {
      const Place at = in_rows(columns, per_lane, thread->lane(), i);
      const std::uint64_t bit = (by_rows ? at.row * stride + at.column : at.column * stride + at.row) * bits;
      Operand address = in.operands[load ? 1 : 0];
      address.offset += static_cast<std::int64_t>(bit / 8);
      std::byte* byte = locate(*thread, in, address, std::max<std::size_t>(1, bits / 8));
      if (byte == nullptr) return fail("a matrix element outside memory or misaligned");
      std::uint64_t element = 0;
      if (load) {
        std::memcpy(&element, byte, std::max<std::size_t>(1, bits / 8));
        packed[i / e] |= cut(element >> bit % 8, static_cast<std::uint32_t>(std::min<std::size_t>(64, bits))) << (e == 1 ? 0 : bits * (i % e));
      } else {
        element = fragment(*thread, registers, in.type, i);
        std::memcpy(byte, &element, bits / 8);
      }
    }
    for (std::size_t j = 0; load && j < packed.size(); ++j) write(*thread, registers.elements[j], bits == 64 ? Type::b64 : Type::b32, packed[j]);
  }
}

void Run::matrix(std::vector<Thread*>& lanes, const Instruction& in, Exec exec) {
  if (lanes.size() != 32) return fail("a matrix operation by part of a warp");
  switch (exec) {
    case Exec::wgmma: return warpgroup_product(lanes, in);
    case Exec::mma: case Exec::wmma_mma: return multiply(lanes, in, exec == Exec::wmma_mma);
    case Exec::ldmatrix: case Exec::stmatrix: return move_matrices(lanes, in, exec == Exec::ldmatrix);
    case Exec::wmma_load: case Exec::wmma_store: return move_tile(lanes, in, exec == Exec::wmma_load);
    default: break;
  }
  std::uint64_t words[32] = {};   // movmatrix
  for (std::size_t lane = 0; lane < 32; ++lane) words[lane] = static_cast<std::uint64_t>(value(*lanes[lane], in.operands[1], Type::b32));
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t row = lane % 4 * 2 + i, column = lane / 4;
      result |= (words[4 * row + column / 2] >> 16 * (column % 2) & 0xffff) << 16 * i;
    }
    write(*lanes[lane], in.operands[0], Type::b32, result);
  }
}

}  // namespace kforge::emulator::reference
