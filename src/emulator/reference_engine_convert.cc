// Comparison (PTX manual 9.7.6, 9.7.7) and conversion (9.7.9.21, 9.7.9.22).
#include <algorithm>

#include "emulator/reference_engine_float.h"
#include "emulator/reference_engine_ops.h"

namespace kforge::emulator::reference {
namespace {

using ptx::BoolOp;
using ptx::Compare;
using ptx::Exec;
using ptx::Instruction;
using ptx::Type;

// `order` is -1, 0, 1 or 2 (unordered).
bool holds(Compare compare, int order) {
  const bool unordered = order == 2;
  switch (compare) {
    case Compare::eq: return order == 0;
    case Compare::ne: return order == -1 || order == 1;
    case Compare::lt: case Compare::lo: return order == -1;
    case Compare::le: case Compare::ls: return order == -1 || order == 0;
    case Compare::gt: case Compare::hi: return order == 1;
    case Compare::ge: case Compare::hs: return order == 1 || order == 0;
    case Compare::equ: return unordered || order == 0;
    case Compare::neu: return order != 0;
    case Compare::ltu: return unordered || order == -1;
    case Compare::leu: return unordered || order == -1 || order == 0;
    case Compare::gtu: return unordered || order == 1;
    case Compare::geu: return unordered || order == 1 || order == 0;
    case Compare::num: return !unordered;
    case Compare::nan: return unordered;
    case Compare::none: break;
  }
  return false;
}

int order_of(std::uint64_t a, std::uint64_t b, Type type, bool ftz) {
  if (ptx::is_float(type)) {
    const Format& f = format_of(type);
    return ftz && type != Type::f64 ? compare(flush(a, f), flush(b, f), f) : compare(a, b, f);
  }
  const Int x = value_of(a, type), y = value_of(b, type);
  return x < y ? -1 : x > y ? 1 : 0;
}

bool combined(BoolOp op, bool t, bool c) {
  switch (op) {
    case BoolOp::and_: return t && c;
    case BoolOp::or_: return t || c;
    case BoolOp::xor_: return t != c;
    case BoolOp::none: break;
  }
  return t;
}

bool is_half_pair(Type type) { return type == Type::f16x2 || type == Type::bf16x2; }

void set_predicates(const Instruction& in, Scalars& s) {
  const BoolOp op = in.mods.bool_op;
  const bool c = s.in[2] != 0;
  if (is_half_pair(in.type)) {
    s.d = combined(op, holds(in.mods.compare, order_of(s.in[0] & 0xffff, s.in[1] & 0xffff, in.type, in.mods.ftz)), c) ? 1 : 0;
    s.q = combined(op, holds(in.mods.compare, order_of(s.in[0] >> 16, s.in[1] >> 16, in.type, in.mods.ftz)), c);
    return;
  }
  const bool t = holds(in.mods.compare, order_of(s.in[0], s.in[1], in.type, in.mods.ftz));
  s.d = combined(op, t, c) ? 1 : 0;
  s.q = combined(op, !t, c);
}

std::uint64_t truth_of(Type result, std::uint32_t width) {
  if (!ptx::is_float(result)) return cut(~std::uint64_t{0}, width);
  const Format& f = format_of(result);
  return static_cast<std::uint64_t>(f.bias()) << f.fraction_bits;
}

void set_value(const Instruction& in, Scalars& s) {
  const bool pair = is_half_pair(in.type2);
  const std::uint32_t width = pair ? 16 : ptx::size_bits(in.type);
  s.d = 0;
  for (std::uint32_t k = 0; k < (pair ? 2u : 1u); ++k) {
    const std::uint64_t a = pair ? s.in[0] >> 16 * k & 0xffff : s.in[0], b = pair ? s.in[1] >> 16 * k & 0xffff : s.in[1];
    const bool t = holds(in.mods.compare, order_of(a, b, in.type2, in.mods.ftz));
    if (combined(in.mods.bool_op, t, s.in[2] != 0)) s.d |= truth_of(in.type, width) << 16 * k;
  }
}

bool has_property(std::string_view test, std::uint64_t a, Type type) {
  const Format& f = format_of(type);
  const Number x = decode(a, f);
  const bool finite = x.kind == Number::Kind::finite;
  const bool is_subnormal = finite && x.significand != 0 && x.significand >> f.fraction_bits == 0;
  if (test == "finite") return finite;
  if (test == "infinite") return x.is_infinite();
  if (test == "number") return !x.is_nan();
  if (test == "notanumber") return x.is_nan();
  if (test == "normal") return finite && !is_subnormal;   // zeros are normal
  return is_subnormal;
}

std::uint64_t float_to_integer(const Instruction& in, std::uint64_t bits) {
  const Format& f = format_of(in.type2);
  const Number x = decode(bits, f);
  const std::uint32_t width = ptx::size_bits(in.type);
  if (x.is_nan()) return in.type2 == Type::f64 || width == 64 ? std::uint64_t{1} << (width - 1) : 0;
  const auto limit = [&](bool negative) { return static_cast<std::uint64_t>(negative ? lowest(in.type) : highest(in.type)); };
  if (x.is_infinite()) return limit(x.negative);
  const Exact whole = round_integral(x, in.mods.rounding);
  if (whole.top_bit() > Exact::kScale + 64) return limit(whole.negative);
  Int value = 0;
  for (int i = whole.top_bit(); i >= Exact::kScale; --i) value = value * 2 + (whole.bit(i) ? 1 : 0);
  return static_cast<std::uint64_t>(std::clamp(whole.negative ? -value : value, lowest(in.type), highest(in.type)));
}

std::uint64_t with_range(const Instruction& in, std::uint64_t d, const Format& f) {
  if (in.mods.sat) return saturate(d, f);
  if (in.mods.relu && !is_nan(d, f) && (d & f.sign_bit()) != 0) return 0;
  return d;
}

std::uint64_t integer_to_float(const Instruction& in, std::uint64_t bits) {
  const Format& f = format_of(in.type);
  const Int value = value_of(bits, in.type2);
  Exact whole;
  whole.negative = value < 0;
  whole.add_scaled(static_cast<Wide>(value < 0 ? -value : value), 0);
  return with_range(in, round(whole, f, in.mods.rounding), f);
}

// What an H200 makes of a NaN, where the manual leaves it open (tests/h200).
std::uint64_t nan_of_nan(const Instruction& in, std::uint64_t bits) {
  const Format& from = format_of(in.type2);
  const Format& to = format_of(in.type);
  const bool keeps = in.type == Type::f64 || (in.type2 == Type::f64 && (in.type == Type::f32 || in.type == Type::f16)) ||
                     (in.type == Type::f32 && in.type2 == Type::bf16 && in.mods.rounding == ptx::Rounding::none) ||
                     (in.type == Type::tf32 && in.mods.rounding == ptx::Rounding::rna && !in.mods.satfinite);
  if (!keeps) return to.nan;
  if (in.type == Type::f64 && in.type2 == Type::f32 && in.mods.ftz) bits = from.nan;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << from.fraction_bits) - 1);
  const int wider = to.fraction_bits - from.fraction_bits;
  const std::uint64_t kept = wider >= 0 ? fraction << wider : fraction >> -wider;
  const bool quiets = in.type == Type::f64 || in.type2 == Type::f64;
  return ((bits & from.sign_bit()) != 0 ? to.sign_bit() : 0) | to.infinity() | kept | (quiets ? std::uint64_t{1} << (to.fraction_bits - 1) : 0);
}

std::uint64_t float_to_float(const Instruction& in, std::uint64_t bits) {
  const Format& from = format_of(in.type2);
  const Format& to = format_of(in.type);
  if (in.mods.ftz && in.type2 == Type::f32) bits = flush(bits, from);
  const Number x = decode(bits, from);
  if (x.is_nan()) return with_range(in, nan_of_nan(in, bits), to);
  const std::uint64_t sign = x.negative ? to.sign_bit() : 0;
  std::uint64_t d = 0;
  if (x.is_infinite()) d = sign | (in.mods.satfinite ? to.largest() : to.has_infinity ? to.infinity() : to.nan);
  else d = round(round_integral(x, in.mods.rounding), to, in.mods.rounding, in.mods.satfinite);
  if (in.mods.ftz && in.type == Type::f32) d = flush(d, to);
  return with_range(in, d, to);
}

std::uint64_t convert(const Instruction& in, std::uint64_t bits) {
  const bool from_float = ptx::is_float(in.type2), to_float = ptx::is_float(in.type);
  if (from_float && to_float) return float_to_float(in, bits);
  if (from_float) return float_to_integer(in, in.mods.ftz && in.type2 == Type::f32 ? flush(bits, format_of(Type::f32)) : bits);
  if (to_float) return integer_to_float(in, bits);
  const Int value = value_of(bits, in.type2);
  return static_cast<std::uint64_t>(in.mods.sat ? std::clamp(value, lowest(in.type), highest(in.type)) : value);
}

std::uint32_t element_bits(Type type) {
  const Format& f = format_of(type);
  return static_cast<std::uint32_t>(1 + f.exponent_bits + f.fraction_bits);
}

bool is_packed(Type type) { return is_half_pair(type) || type == Type::e4m3x2 || type == Type::e5m2x2; }

void convert_all(const Instruction& in, Scalars& s) {
  if (!is_packed(in.type)) {
    s.d = convert(in, s.in[0]);
    if (in.type == Type::tf32) s.d <<= 13;   // a tf32 is the upper 19 bits of an f32
    return;
  }
  const std::uint32_t step = element_bits(in.type);
  std::uint64_t high = s.in[0], low = s.in[1];
  if (is_packed(in.type2)) {
    const std::uint32_t from = element_bits(in.type2);
    high = cut(s.in[0] >> from, from);
    low = cut(s.in[0], from);
  }
  s.d = convert(in, high) << step | convert(in, low);
}

// cvt.pack.sat: a above b, above what fits of c.
void convert_pack(const Instruction& in, Scalars& s) {
  const std::uint32_t width = ptx::size_bits(in.type);
  const auto saturated = [&](std::uint64_t bits) {
    return cut(static_cast<std::uint64_t>(std::clamp(value_of(bits, in.type2), lowest(in.type), highest(in.type))), width);
  };
  s.d = saturated(s.in[0]) << width | saturated(s.in[1]);
  if (s.count > 2) s.d |= s.in[2] << 2 * width;
}

}  // namespace

bool evaluate_compare(const Instruction& in, Exec exec, Scalars& s) {
  switch (exec) {
    case Exec::setp: set_predicates(in, s); return true;
    case Exec::set: set_value(in, s); return true;
    case Exec::testp: s.d = has_property(in.mods.text, s.in[0], in.type) ? 1 : 0; return true;
    default: return false;
  }
}

bool evaluate_convert(const Instruction& in, Exec exec, Scalars& s) {
  if (exec == Exec::cvt) convert_all(in, s);
  else if (exec == Exec::cvt_pack) convert_pack(in, s);
  else return false;
  return true;
}

}  // namespace kforge::emulator::reference
