// Small floating formats as bits, converted exactly: f16, bf16, tf32, e4m3, e5m2, to and from double.
//
// Arithmetic on them is done in double and rounded once. Sums that a double cannot hold are rounded to odd first (Boldo and
// Melquiond, "Emulation of FMA and correctly rounded sums", 2008): 53 bits rounded to odd, then rounded to at most 51 bits,
// give the correctly rounded result.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ptx/module.h"

namespace kforge::emulator {

struct Format {
  int exponent_bits = 5, mantissa_bits = 10;
  bool has_infinity = true;
  std::uint32_t nan = 0x7fff;   // the canonical NaN (PTX manual, 9.7.4)
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr std::uint32_t sign() const { return 1u << (exponent_bits + mantissa_bits); }
  constexpr std::uint32_t infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  constexpr std::uint32_t largest() const { return has_infinity ? infinity() - 1 : nan - 1; }
};
inline constexpr Format kF16{5, 10, true, 0x7fff};
inline constexpr Format kBf16{8, 7, true, 0x7fff};
inline constexpr Format kF32{8, 23, true, 0x7fffffff};
inline constexpr Format kE4m3{4, 3, false, 0x7f};
inline constexpr Format kE5m2{5, 2, true, 0x7f};

inline double decode_format(std::uint32_t bits, const Format& f) {
  const std::uint32_t magnitude = bits & (f.sign() - 1);
  const double sign = (bits & f.sign()) != 0 ? -1.0 : 1.0;
  if (f.has_infinity ? magnitude > f.infinity() : magnitude == f.nan)
    return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);   // .xorsign looks at the sign of a NaN too
  if (f.has_infinity && magnitude == f.infinity()) return sign * std::numeric_limits<double>::infinity();
  const std::uint32_t exponent = magnitude >> f.mantissa_bits;
  const std::uint32_t mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  const std::uint32_t whole = exponent == 0 ? mantissa : mantissa | 1u << f.mantissa_bits;
  const int power = static_cast<int>(exponent == 0 ? 1 : exponent) - f.bias() - f.mantissa_bits;
  return sign * whole * std::bit_cast<double>(static_cast<std::uint64_t>(power + 1023) << 52);
}

// Whether the kept part is incremented: `rest` of `half * 2` units is cut off.
inline bool rounds_up(std::uint64_t kept, std::uint64_t rest, std::uint64_t half, ptx::Rounding mode, bool negative) {
  using ptx::Rounding;
  if (mode == Rounding::rz || mode == Rounding::rzi) return false;
  if (mode == Rounding::rp || mode == Rounding::rpi) return !negative && rest != 0;
  if (mode == Rounding::rm || mode == Rounding::rmi) return negative && rest != 0;
  if (mode == Rounding::rna) return rest >= half;
  return rest > half || (rest == half && (kept & 1) != 0);
}

inline std::uint32_t overflowed(const Format& f, ptx::Rounding mode, bool negative, bool saturate) {
  using ptx::Rounding;
  const bool toward_zero = mode == Rounding::rz || (mode == Rounding::rp && negative) || (mode == Rounding::rm && !negative);
  if (saturate || toward_zero) return f.largest();
  return f.has_infinity ? f.infinity() : f.nan;
}

// The bits of x in the format. `saturate`: too large a magnitude, infinity included, becomes the largest finite one.
inline std::uint32_t encode_format(double x, const Format& f, ptx::Rounding mode = ptx::Rounding::rn, bool saturate = false) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const bool negative = bits >> 63 != 0;
  const std::uint32_t sign = negative ? f.sign() : 0;
  if (x != x) return f.nan;
  const int raw = static_cast<int>(bits >> 52 & 0x7ff);
  if (raw == 0x7ff) return sign | (saturate || !f.has_infinity ? (saturate ? f.largest() : f.nan) : f.infinity());
  const std::uint64_t fraction = bits & 0xf'ffff'ffff'ffffull;
  if (raw == 0 && fraction == 0) return sign;
  const int exponent = raw == 0 ? -1022 : raw - 1023;
  const std::uint64_t mantissa = raw == 0 ? fraction : fraction | std::uint64_t{1} << 52;
  const int lowest = 1 - f.bias();
  const int below = exponent < lowest ? lowest - exponent : 0;
  const int shift = std::min(52 - f.mantissa_bits + below, 62);
  const std::uint64_t kept = mantissa >> shift;
  const std::uint64_t rest = mantissa & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t rounded = kept + (rounds_up(kept, rest, std::uint64_t{1} << (shift - 1), mode, negative) ? 1 : 0);
  const std::uint64_t scaled =
      rounded + (below > 0 ? 0 : static_cast<std::uint64_t>(exponent - lowest) << f.mantissa_bits);
  return sign | (scaled > f.largest() ? overflowed(f, mode, negative, saturate) : static_cast<std::uint32_t>(scaled));
}

// a + b rounded to odd in double: exact sums stay, others get a last bit of 1.
inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  if (error == 0 || (bits & 1) != 0) return sum;
  const bool away = (error > 0) == (sum > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

}  // namespace kforge::emulator
