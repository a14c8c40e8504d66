// Floating-point instructions (PTX manual 9.7.3, 9.7.4) over exact arithmetic; functions without an exact result are
// computed in double by the C library and rounded once.
#include <bit>
#include <cmath>
#include <initializer_list>

#include "emulator/reference_engine_float.h"
#include "emulator/reference_engine_ops.h"

namespace kforge::emulator::reference {
namespace {

using ptx::Exec;
using ptx::Instruction;
using ptx::Rounding;
using ptx::Type;

std::uint64_t from_double(double x, const Format& f) {
  if (x != x) return f.nan;
  const Number n = decode(std::bit_cast<std::uint64_t>(x), format_of(Type::f64));
  if (n.is_infinite()) return f.infinity() | (n.negative ? f.sign_bit() : 0);
  return round(exact(n), f, Rounding::rn);
}

std::uint64_t quiet_bit(const Format& f) { return std::uint64_t{1} << (f.fraction_bits - 1); }

// f64 keeps a NaN operand, as an H200 does: the first of `order` that is one.
std::uint64_t f64_nan(const std::uint64_t (&x)[3], std::initializer_list<std::size_t> order) {
  const Format& f = format_of(Type::f64);
  for (const std::size_t k : order)
    if (is_nan(x[k], f)) return x[k] | quiet_bit(f);
  return f.sign_bit() | f.infinity() | quiet_bit(f);
}

// The manual's rule for zeros, NaN, .NaN and .xorsign.abs (9.7.3.11).
std::uint64_t extremum(const Instruction& in, const Format& f, std::uint64_t a, std::uint64_t b, bool is_max) {
  const bool differ = ((a ^ b) & f.sign_bit()) != 0;
  if (in.mods.abs) { a &= ~f.sign_bit(); b &= ~f.sign_bit(); }
  std::uint64_t d = 0;
  if (is_nan(a, f) && is_nan(b, f)) return in.type == Type::f64 ? b | quiet_bit(f) : f.nan;
  if (in.mods.nan && (is_nan(a, f) || is_nan(b, f))) return f.nan;
  if (is_nan(a, f)) d = b;
  else if (is_nan(b, f)) d = a;
  else {
    const int order = compare(a, b, f);
    const bool a_is_less = order != 0 ? order < 0 : (a & f.sign_bit()) != 0;   // -0 < +0
    d = a_is_less == is_max ? b : a;
  }
  if (in.mods.xorsign) d = (d & ~f.sign_bit()) | (differ ? f.sign_bit() : 0);
  return d;
}

// div.approx: a divisor above 2^126 acts as an infinity would, except that infinity / it is NaN (9.7.3.8).
std::uint64_t divide_float(const Instruction& in, const Format& f, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t magnitude = b & ~f.sign_bit();
  const std::uint64_t huge = std::uint64_t{126 + 127} << 23;
  if (in.mods.approx && magnitude > huge && magnitude < f.infinity())
    return multiply(a, b & f.sign_bit(), f, Rounding::rn);
  return divide(a, b, f, in.mods.rounding);
}

double function(Exec exec, double x) {
  switch (exec) {
    case Exec::rsqrt: return x == 0 ? std::copysign(HUGE_VAL, x) : 1 / std::sqrt(x);
    case Exec::sin: return std::sin(x);
    case Exec::cos: return std::cos(x);
    case Exec::lg2: return std::log2(x);
    case Exec::ex2: return std::exp2(x);
    case Exec::tanh: return std::tanh(x);
    default: return NAN;
  }
}

// One element; false when the family is not floating arithmetic.
bool element(const Instruction& in, Exec exec, const Format& f, const std::uint64_t (&x)[3], std::uint64_t& d) {
  const Rounding mode = in.mods.rounding;
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias()) << f.fraction_bits;
  switch (exec) {
    case Exec::add: d = add(x[0], x[1], f, mode); return true;
    case Exec::sub: d = add(x[0], x[1] ^ (is_nan(x[1], f) ? 0 : f.sign_bit()), f, mode); return true;
    case Exec::mul: d = multiply(x[0], x[1], f, mode); return true;
    case Exec::fma: d = fused(x[0], x[1], x[2], f, mode); return true;
    case Exec::div: d = divide_float(in, f, x[0], x[1]); return true;
    case Exec::rcp: d = divide(one, x[0], f, mode); return true;
    case Exec::sqrt: d = square_root(x[0], f, mode); return true;
    case Exec::min: case Exec::max:
      d = extremum(in, f, x[0], x[1], exec == Exec::max);
      if (in.operands.size() > 3) d = extremum(in, f, d, x[2], exec == Exec::max);
      return true;
    case Exec::rsqrt: case Exec::sin: case Exec::cos: case Exec::lg2: case Exec::ex2: case Exec::tanh:
      d = from_double(function(exec, to_double(x[0], f)), f);
      return true;
    case Exec::abs: d = is_nan(x[0], f) ? f.nan : x[0] & ~f.sign_bit(); return true;
    case Exec::neg: d = is_nan(x[0], f) ? f.nan : x[0] ^ f.sign_bit(); return true;
    case Exec::copysign: d = (x[1] & ~f.sign_bit()) | (x[0] & f.sign_bit()); return true;
    default: return false;
  }
}

// .ftz: a result that is subnormal when it is rounded as if there were no smallest exponent becomes zero.
std::uint64_t flushed(const Instruction& in, Exec exec, const Format& f, const std::uint64_t (&x)[3], std::uint64_t d) {
  if (in.mods.approx || in.mods.full || is_nan(d, f)) return flush(d, f);
  const Format endless{11, f.fraction_bits, true, 0};
  std::uint64_t wide[3] = {}, result = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Number number = decode(x[i], f);
    if (number.kind != Number::Kind::finite) return flush(d, f);
    wide[i] = round(exact(number), endless, Rounding::rz);
  }
  element(in, exec, endless, wide, result);
  const std::uint64_t smallest = static_cast<std::uint64_t>(endless.bias() + 1 - f.bias()) << f.fraction_bits;
  return (result & ~endless.sign_bit()) < smallest ? d & f.sign_bit() : d;
}

std::uint64_t nan_result(Exec exec, const std::uint64_t (&x)[3], std::uint64_t d) {
  switch (exec) {
    case Exec::add: case Exec::sub: case Exec::mul: return f64_nan(x, {1, 0});
    case Exec::fma: return f64_nan(x, {1, 2, 0});
    case Exec::div: return f64_nan(x, {0, 1});
    case Exec::rcp: case Exec::sqrt: case Exec::rsqrt: case Exec::abs: case Exec::neg: return f64_nan(x, {0});
    default: return d;
  }
}

// The f32 of the same value as an f16 or bf16.
std::uint64_t widened(std::uint64_t bits, Type type) {
  const Format& single = format_of(Type::f32);
  const Number n = decode(bits, format_of(type));
  if (n.is_nan()) return single.nan;
  const std::uint64_t sign = n.negative ? single.sign_bit() : 0;
  return n.is_infinite() ? single.infinity() | sign : round(exact(n), single, Rounding::rn);
}

}  // namespace

bool evaluate_float(const Instruction& in, Exec exec, Scalars& s) {
  const Format& f = format_of(in.type);
  const std::uint32_t width = static_cast<std::uint32_t>(1 + f.exponent_bits + f.fraction_bits);
  const std::uint32_t parts = ptx::size_bits(in.type) / width;
  const bool ftz = in.mods.ftz && in.type != Type::f64;
  if (in.type == Type::f32 && (in.type2 == Type::f16 || in.type2 == Type::bf16))   // mixed precision: all but the last source
    for (std::size_t i = 0; i + 1 < s.count; ++i) s.in[i] = widened(s.in[i], in.type2);
  s.d = 0;
  for (std::uint32_t k = 0; k < parts; ++k) {
    std::uint64_t x[3] = {};
    for (std::size_t i = 0; i < 3; ++i) {
      x[i] = cut(s.in[i] >> width * k, width);
      if (ftz) x[i] = flush(x[i], f);
    }
    std::uint64_t d = 0;
    if (!element(in, exec, f, x, d)) return false;
    if (ftz) d = flushed(in, exec, f, x, d);
    if (in.type == Type::f64 && is_nan(d, f)) d = nan_result(exec, x, d);
    if (in.mods.sat) d = saturate(d, f);
    if (in.mods.relu && !is_nan(d, f) && (d & f.sign_bit()) != 0) d = 0;   // also -0
    s.d |= d << width * k;
  }
  return true;
}

}  // namespace kforge::emulator::reference
