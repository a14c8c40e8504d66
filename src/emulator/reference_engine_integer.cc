// Integer arithmetic (PTX manual 9.7.1, 9.7.2) in 128-bit integers, and atomics.
#include <algorithm>

#include "emulator/reference_engine_float.h"
#include "emulator/reference_engine_ops.h"

namespace kforge::emulator::reference {

using ptx::Exec;
using ptx::Half;
using ptx::Instruction;
using ptx::Type;

std::uint64_t cut(std::uint64_t bits, std::uint32_t width) { return width >= 64 ? bits : bits & ((std::uint64_t{1} << width) - 1); }

Int value_of(std::uint64_t bits, Type type) {
  const std::uint32_t width = ptx::size_bits(type);
  const std::uint64_t low = cut(bits, width);
  const bool negative = ptx::is_signed(type) && (low >> (width - 1) & 1) != 0;
  return static_cast<Int>(low) - (negative ? static_cast<Int>(1) << width : 0);
}

Int lowest(Type type) { return ptx::is_signed(type) ? -(static_cast<Int>(1) << (ptx::size_bits(type) - 1)) : 0; }
Int highest(Type type) { return (static_cast<Int>(1) << (ptx::size_bits(type) - (ptx::is_signed(type) ? 1 : 0))) - 1; }

namespace {

std::uint64_t bits_of(Int value) { return static_cast<std::uint64_t>(value); }
Int saturated(Int value, Type type) { return std::clamp(value, lowest(type), highest(type)); }

bool is_pair(Type type) { return type == Type::u16x2 || type == Type::s16x2; }
Type half_of(Type type) { return type == Type::u16x2 ? Type::u16 : Type::s16; }

template <class F>
std::uint64_t each_half(const Scalars& s, Type type, F f) {
  const Type half = half_of(type);
  std::uint64_t result = 0;
  for (int k = 0; k < 2; ++k)
    result |= cut(bits_of(f(value_of(s.in[0] >> 16 * k, half), value_of(s.in[1] >> 16 * k, half))), 16) << 16 * k;
  return result;
}

// The product, high or low part: the parts of 64-bit products need all 128 bits.
std::uint64_t product_part(const Instruction& in, std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(value_of(a, in.type)) * static_cast<Wide>(value_of(b, in.type));   // modulo 2^128
  const std::uint32_t width = ptx::size_bits(in.type);
  if (in.mods.half == Half::hi) return cut(static_cast<std::uint64_t>(product >> width), width);
  return static_cast<std::uint64_t>(product);
}

// a + b + carry of `width` bits, and the carry out of the top bit.
std::uint64_t add_with_carry(std::uint64_t a, std::uint64_t b, bool carry, std::uint32_t width, bool& out) {
  const Wide total = static_cast<Wide>(cut(a, width)) + cut(b, width) + (carry ? 1 : 0);
  out = (total >> width & 1) != 0;
  return static_cast<std::uint64_t>(total);
}

void add(const Instruction& in, Scalars& s, bool subtract, bool reads_carry) {
  const std::uint32_t width = ptx::size_bits(in.type);
  if (in.mods.carry_out || reads_carry) {
    bool out = false;
    // The carry of a subtraction is that of a + ~b + 1: set when nothing is borrowed. It is clear before anything sets it.
    s.d = add_with_carry(s.in[0], subtract ? ~s.in[1] : s.in[1], reads_carry ? s.carry : subtract, width, out);
    if (in.mods.carry_out) s.carry = out;
    return;
  }
  if (is_pair(in.type)) { s.d = each_half(s, in.type, [](Int a, Int b) { return a + b; }); return; }
  const Int a = value_of(s.in[0], in.type), b = value_of(s.in[1], in.type);
  const Int result = subtract ? a - b : a + b;
  s.d = bits_of(in.mods.sat ? saturated(result, in.type) : result);
}

void multiply_add(const Instruction& in, Scalars& s, bool reads_carry) {
  if (in.mods.carry_out || reads_carry) {
    bool out = false;
    s.d = add_with_carry(product_part(in, s.in[0], s.in[1]), s.in[2], reads_carry && s.carry, ptx::size_bits(in.type), out);
    if (in.mods.carry_out) s.carry = out;
    return;
  }
  if (in.mods.half == Half::wide) { s.d = bits_of(value_of(s.in[0], in.type) * value_of(s.in[1], in.type)) + s.in[2]; return; }
  const std::uint64_t part = product_part(in, s.in[0], s.in[1]);
  if (in.mods.sat) s.d = bits_of(saturated(value_of(part, in.type) + value_of(s.in[2], in.type), in.type));
  else s.d = part + s.in[2];
}

// Bits 47..16 or 31..0 of the product of the low 24 bits.
std::uint64_t product24(const Instruction& in, std::uint64_t a, std::uint64_t b) {
  const auto low24 = [&](std::uint64_t x) {
    const Int low = static_cast<Int>(x & 0xffffff);
    return ptx::is_signed(in.type) && (x >> 23 & 1) != 0 ? low - (Int{1} << 24) : low;
  };
  const Int product = low24(a) * low24(b);
  return cut(bits_of(in.mods.half == Half::hi ? product >> 16 : product), 32);
}

void multiply_add24(const Instruction& in, Scalars& s) {
  const std::uint64_t part = product24(in, s.in[0], s.in[1]);
  if (in.mods.sat) s.d = bits_of(saturated(value_of(part, in.type) + value_of(s.in[2], in.type), in.type));
  else s.d = part + s.in[2];
}

void extremum(const Instruction& in, Scalars& s, bool is_max) {
  const auto pick = [&](Int a, Int b) {
    const Int result = is_max ? std::max(a, b) : std::min(a, b);
    return in.mods.relu ? std::max<Int>(result, 0) : result;
  };
  if (is_pair(in.type)) s.d = each_half(s, in.type, pick);
  else s.d = bits_of(pick(value_of(s.in[0], in.type), value_of(s.in[1], in.type)));
}

// Sums of products of bytes (dp4a), or of half-words by bytes (dp2a).
void dot(const Instruction& in, Scalars& s, int parts) {
  const bool a_signed = in.type == Type::s32, b_signed = in.type2 == Type::s32;
  const int a_width = 32 / parts, first = parts == 2 && in.mods.half == Half::hi ? 2 : 0;
  Int total = static_cast<Int>(s.in[2]);
  for (int k = 0; k < parts; ++k) {
    const std::uint64_t a = s.in[0] >> a_width * k, b = s.in[1] >> 8 * (first + k);
    const Type a_type = parts == 4 ? (a_signed ? Type::s8 : Type::u8) : (a_signed ? Type::s16 : Type::u16);
    total += value_of(a, a_type) * value_of(b, b_signed ? Type::s8 : Type::u8);
  }
  s.d = bits_of(total);
}

// Division by zero has no defined result; all ones is the H200's.
void divide(const Instruction& in, Scalars& s, bool remainder) {
  const Int a = value_of(s.in[0], in.type), b = value_of(s.in[1], in.type);
  if (b == 0) s.d = ~std::uint64_t{0};
  else s.d = bits_of(remainder ? a % b : a / b);
}

}  // namespace

bool evaluate_integer(const Instruction& in, Exec exec, Scalars& s) {
  const auto value = [&](std::size_t k) { return value_of(s.in[k], in.type); };
  switch (exec) {
    case Exec::add: add(in, s, false, false); return true;
    case Exec::sub: add(in, s, true, false); return true;
    case Exec::addc: add(in, s, false, true); return true;
    case Exec::subc: add(in, s, true, true); return true;
    case Exec::mul: s.d = in.mods.half == Half::wide ? bits_of(value(0) * value(1)) : product_part(in, s.in[0], s.in[1]); return true;
    case Exec::mad: multiply_add(in, s, false); return true;
    case Exec::madc: multiply_add(in, s, true); return true;
    case Exec::mul24: s.d = product24(in, s.in[0], s.in[1]); return true;
    case Exec::mad24: multiply_add24(in, s); return true;
    case Exec::sad: s.d = s.in[2] + bits_of(value(0) < value(1) ? value(1) - value(0) : value(0) - value(1)); return true;
    case Exec::div: divide(in, s, false); return true;
    case Exec::rem: divide(in, s, true); return true;
    case Exec::abs: s.d = bits_of(value(0) < 0 ? -value(0) : value(0)); return true;
    case Exec::neg: s.d = bits_of(-value(0)); return true;
    case Exec::min: extremum(in, s, false); return true;
    case Exec::max: extremum(in, s, true); return true;
    case Exec::dp4a: dot(in, s, 4); return true;
    case Exec::dp2a: dot(in, s, 2); return true;
    default: return false;
  }
}

namespace {

std::uint64_t atomic_extremum(Type type, std::uint64_t old, std::uint64_t b, bool is_max) {
  if (!ptx::is_float(type)) {
    const bool b_larger = value_of(b, type) > value_of(old, type);
    return b_larger == is_max ? b : old;
  }
  const Format& f = format_of(type);
  if (is_nan(old, f)) return is_nan(b, f) ? f.nan : b;
  if (is_nan(b, f)) return old;
  const int order = compare(old, b, f);
  if (order == 0) return ((old & f.sign_bit()) != 0) == is_max ? b : old;
  return (order < 0) == is_max ? b : old;
}

std::uint64_t atomic_add(Type type, std::uint64_t old, std::uint64_t b, bool in_global) {
  if (!ptx::is_float(type)) return old + b;
  const Format& f = format_of(type);
  if (type != Type::f32 || !in_global) return add(old, b, f, ptx::Rounding::rn);
  return flush(add(flush(old, f), flush(b, f), f, ptx::Rounding::rn), f);
}

std::uint64_t element_result(const Instruction& in, std::uint64_t old, std::uint64_t b, std::uint64_t c, bool in_global) {
  const Type type = in.type;
  using ptx::AtomOp;
  switch (in.mods.atom_op) {
    case AtomOp::add: return atomic_add(type, old, b, in_global);
    case AtomOp::inc: return old >= b ? 0 : old + 1;
    case AtomOp::dec: return old == 0 || old > b ? b : old - 1;
    case AtomOp::min: return atomic_extremum(type, old, b, false);
    case AtomOp::max: return atomic_extremum(type, old, b, true);
    case AtomOp::and_: return old & b;
    case AtomOp::or_: return old | b;
    case AtomOp::xor_: return old ^ b;
    case AtomOp::exch: return b;
    case AtomOp::cas: return old == b ? c : old;
    case AtomOp::none: break;
  }
  return old;
}

}  // namespace

std::uint64_t atomic_result(const Instruction& in, std::uint64_t old, std::uint64_t b, std::uint64_t c, bool in_global) {
  if (in.type != Type::f16x2 && in.type != Type::bf16x2) return element_result(in, old, b, c, in_global);
  std::uint64_t result = 0;
  for (int k = 0; k < 2; ++k)
    result |= cut(element_result(in, old >> 16 * k & 0xffff, b >> 16 * k & 0xffff, 0, in_global), 16) << 16 * k;
  return result;
}

bool evaluate(const Instruction& in, Exec exec, Scalars& s) {
  if (evaluate_video(in, exec, s) || evaluate_compare(in, exec, s) || evaluate_convert(in, exec, s) || evaluate_bits(in, exec, s)) return true;
  return ptx::is_float(in.type) ? evaluate_float(in, exec, s) : evaluate_integer(in, exec, s);
}

}  // namespace kforge::emulator::reference
