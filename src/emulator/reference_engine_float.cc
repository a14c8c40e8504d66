#include "emulator/reference_engine_float.h"

#include <bit>

namespace kforge::emulator::reference {
namespace {

using ptx::Rounding;
using ptx::Type;

constexpr Format kF16{5, 10, true, 0x7fff}, kBf16{8, 7, true, 0x7fff}, kTf32{8, 10, true, 0x3ffff}, kF32{8, 23, true, 0x7fffffff},
    kF64{11, 52, true, 0x7fffffffffffffff}, kE4m3{4, 3, false, 0x7f}, kE5m2{5, 2, true, 0x7f};

std::uint64_t signed_bits(bool negative, std::uint64_t magnitude, const Format& format) {
  return magnitude | (negative ? format.sign_bit() : 0);
}

// Whether the magnitude goes up to the next one: `odd` is its last kept bit, `half` the first cut one, `rest` any after it.
bool goes_up(bool odd, bool half, bool rest, Rounding mode, bool negative) {
  switch (mode) {
    case Rounding::rz: case Rounding::rzi: return false;
    case Rounding::rp: case Rounding::rpi: return !negative && (half || rest);
    case Rounding::rm: case Rounding::rmi: return negative && (half || rest);
    case Rounding::rna: return half;
    default: return half && (rest || odd);
  }
}

// A sum of exact values; the sign of an exact zero is IEEE 754's (6.3).
Exact sum(const Exact& a, const Exact& b, Rounding mode) {
  Exact result = a;
  if (a.negative == b.negative) {
    result.add_magnitude(b);
    return result;
  }
  const int order = Exact::compare(a, b);
  if (order == 0) {
    Exact zero;
    zero.negative = mode == Rounding::rm;
    return zero;
  }
  result = order > 0 ? a : b;
  result.subtract_magnitude(order > 0 ? b : a);
  return result;
}

}  // namespace

const Format& format_of(Type type) {
  switch (type) {
    case Type::f16: case Type::f16x2: return kF16;
    case Type::bf16: case Type::bf16x2: return kBf16;
    case Type::tf32: return kTf32;
    case Type::f64: return kF64;
    case Type::e4m3: case Type::e4m3x2: return kE4m3;
    case Type::e5m2: case Type::e5m2x2: return kE5m2;
    default: return kF32;
  }
}

bool Exact::is_zero() const { return top_bit() < 0; }

int Exact::top_bit() const {
  for (std::size_t i = kWords; i-- > 0;)
    if (words_[i] != 0) return static_cast<int>(64 * i) + 63 - std::countl_zero(words_[i]);
  return -1;
}

bool Exact::bit(int position) const {
  return position >= 0 && (words_[static_cast<std::size_t>(position) / 64] >> (position % 64) & 1) != 0;
}

bool Exact::any_below(int position) const {
  for (int i = 0; i < position;) {
    const std::uint64_t word = words_[static_cast<std::size_t>(i) / 64];
    if (position - i >= 64) {
      if (word != 0) return true;
      i += 64;
    } else {
      return (word & ((std::uint64_t{1} << (position - i)) - 1)) != 0;
    }
  }
  return false;
}

void Exact::add_scaled(Wide significand, int exponent) {
  Exact other;
  const int shift = exponent + kScale;
  for (int i = 0; i < 128; ++i)
    if ((significand >> i & 1) != 0) other.words_[static_cast<std::size_t>(shift + i) / 64] |= std::uint64_t{1} << ((shift + i) % 64);
  add_magnitude(other);
}

int Exact::compare(const Exact& a, const Exact& b) {
  for (std::size_t i = kWords; i-- > 0;)
    if (a.words_[i] != b.words_[i]) return a.words_[i] < b.words_[i] ? -1 : 1;
  return 0;
}

void Exact::add_magnitude(const Exact& other) {
  Wide carry = 0;
  for (std::size_t i = 0; i < kWords; ++i) {
    carry += words_[i];
    carry += other.words_[i];
    words_[i] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
}

void Exact::subtract_magnitude(const Exact& other) {
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < kWords; ++i) {
    const Wide taken = static_cast<Wide>(other.words_[i]) + borrow;
    borrow = words_[i] < taken ? 1 : 0;
    words_[i] = static_cast<std::uint64_t>(words_[i] - taken);
  }
}

Number decode(std::uint64_t bits, const Format& f) {
  Number out;
  out.negative = (bits & f.sign_bit()) != 0;
  const std::uint64_t magnitude = bits & (f.sign_bit() - 1);
  if (f.has_infinity ? magnitude > f.infinity() : magnitude == f.nan) { out.kind = Number::Kind::nan; return out; }
  if (f.has_infinity && magnitude == f.infinity()) { out.kind = Number::Kind::infinite; return out; }
  const auto field = static_cast<int>(magnitude >> f.fraction_bits);
  const std::uint64_t fraction = magnitude & ((std::uint64_t{1} << f.fraction_bits) - 1);
  out.significand = field == 0 ? fraction : fraction | std::uint64_t{1} << f.fraction_bits;
  out.exponent = (field == 0 ? 1 : field) - f.bias() - f.fraction_bits;
  return out;
}

Exact exact(const Number& finite) {
  Exact out;
  out.negative = finite.negative;
  out.add_scaled(finite.significand, finite.exponent);
  return out;
}

std::uint64_t round(const Exact& value, const Format& f, Rounding mode, bool saturate) {
  const int top = value.top_bit();
  if (top < 0) return signed_bits(value.negative, 0, f);
  int exponent = std::max(top - Exact::kScale, 1 - f.bias());
  const int last = exponent - f.fraction_bits + Exact::kScale;   // position of the last kept bit
  std::uint64_t kept = 0;
  for (int i = top; i >= last; --i) kept = kept << 1 | (value.bit(i) ? 1 : 0);
  if (goes_up((kept & 1) != 0, value.bit(last - 1), value.any_below(last - 1), mode, value.negative)) ++kept;
  const std::uint64_t hidden = std::uint64_t{1} << f.fraction_bits;
  if (kept == 2 * hidden) { kept = hidden; ++exponent; }
  const bool is_subnormal = kept < hidden;
  std::uint64_t magnitude = is_subnormal ? kept : (static_cast<std::uint64_t>(exponent + f.bias()) << f.fraction_bits) + (kept - hidden);
  if (magnitude > f.largest()) {
    const bool inwards = mode == Rounding::rz || (mode == Rounding::rm && !value.negative) || (mode == Rounding::rp && value.negative);
    magnitude = saturate || inwards ? f.largest() : f.has_infinity ? f.infinity() : f.nan;
  }
  return signed_bits(value.negative, magnitude, f);
}

std::uint64_t add(std::uint64_t a, std::uint64_t b, const Format& f, Rounding mode) {
  const Number x = decode(a, f), y = decode(b, f);
  if (x.is_nan() || y.is_nan()) return f.nan;
  if (x.is_infinite() && y.is_infinite()) return x.negative == y.negative ? a : f.nan;
  if (x.is_infinite()) return a;
  if (y.is_infinite()) return b;
  return round(sum(exact(x), exact(y), mode), f, mode);
}

std::uint64_t multiply(std::uint64_t a, std::uint64_t b, const Format& f, Rounding mode) {
  const Number x = decode(a, f), y = decode(b, f);
  const bool negative = x.negative != y.negative;
  if (x.is_nan() || y.is_nan()) return f.nan;
  if ((x.is_infinite() && y.is_zero()) || (x.is_zero() && y.is_infinite())) return f.nan;
  if (x.is_infinite() || y.is_infinite()) return signed_bits(negative, f.infinity(), f);
  Exact product;
  product.negative = negative;
  product.add_scaled(static_cast<Wide>(x.significand) * y.significand, x.exponent + y.exponent);
  return round(product, f, mode);
}

std::uint64_t fused(std::uint64_t a, std::uint64_t b, std::uint64_t c, const Format& f, Rounding mode) {
  const Number x = decode(a, f), y = decode(b, f), z = decode(c, f);
  const bool negative = x.negative != y.negative;
  if (x.is_nan() || y.is_nan() || z.is_nan()) return f.nan;
  if ((x.is_infinite() && y.is_zero()) || (x.is_zero() && y.is_infinite())) return f.nan;
  if (x.is_infinite() || y.is_infinite())
    return z.is_infinite() && z.negative != negative ? f.nan : signed_bits(negative, f.infinity(), f);
  if (z.is_infinite()) return c;
  Exact product;
  product.negative = negative;
  product.add_scaled(static_cast<Wide>(x.significand) * y.significand, x.exponent + y.exponent);
  return round(sum(product, exact(z), mode), f, mode);
}

std::uint64_t divide(std::uint64_t a, std::uint64_t b, const Format& f, Rounding mode) {
  const Number x = decode(a, f), y = decode(b, f);
  const bool negative = x.negative != y.negative;
  if (x.is_nan() || y.is_nan() || (x.is_infinite() && y.is_infinite()) || (x.is_zero() && y.is_zero())) return f.nan;
  if (x.is_infinite() || y.is_zero()) return signed_bits(negative, f.infinity(), f);
  if (y.is_infinite() || x.is_zero()) return signed_bits(negative, 0, f);
  // At least 65 bits of the quotient of the two integers, and one bit more that says whether there is a remainder.
  const int up = std::countl_zero(x.significand), down = std::countl_zero(y.significand);
  const Wide dividend = static_cast<Wide>(x.significand << up) << 63;
  const std::uint64_t divisor = y.significand << down >> 2;      // shorter by two bits: 64 bits of quotient or more
  const int lost = down - 2;
  Wide quotient = 0, remainder = 0;
  // The divisor keeps all its bits: significands have at most 53.
  quotient = dividend / divisor;
  remainder = dividend % divisor;
  Exact result;
  result.negative = negative;
  result.add_scaled(quotient << 1 | (remainder != 0 ? 1 : 0), x.exponent - y.exponent - up - 63 + lost - 1);
  return round(result, f, mode);
}

std::uint64_t square_root(std::uint64_t a, const Format& f, Rounding mode) {
  const Number x = decode(a, f);
  if (x.is_nan()) return f.nan;
  if (x.is_zero()) return a;
  if (x.negative) return f.nan;
  if (x.is_infinite()) return a;
  // The root of significand * 2^(2k), digit by digit, with k large enough for 60 bits.
  Wide radicand = x.significand;
  int exponent = x.exponent;
  while (radicand >> 124 == 0 || exponent % 2 != 0) { radicand <<= 1; --exponent; }
  Wide root = 0;
  for (int i = 63; i >= 0; --i) {
    const Wide trial = root | static_cast<Wide>(1) << i;
    if (trial * trial <= radicand) root = trial;
  }
  Exact result;
  result.add_scaled(root << 1 | (root * root != radicand ? 1 : 0), exponent / 2 - 1);
  return round(result, f, mode);
}

int compare(std::uint64_t a, std::uint64_t b, const Format& f) {
  const Number x = decode(a, f), y = decode(b, f);
  if (x.is_nan() || y.is_nan()) return 2;
  if (x.is_zero() && y.is_zero()) return 0;
  // Magnitudes of one format are ordered as their bits are.
  const auto key = [&](std::uint64_t bits, bool negative) {
    const auto magnitude = static_cast<std::int64_t>(bits & (f.sign_bit() - 1));
    return negative ? -magnitude : magnitude;
  };
  const std::int64_t i = key(a, x.negative), j = key(b, y.negative);
  return i < j ? -1 : i > j ? 1 : 0;
}

bool is_nan(std::uint64_t bits, const Format& f) { return decode(bits, f).is_nan(); }

std::uint64_t flush(std::uint64_t bits, const Format& f) {
  const Number x = decode(bits, f);
  const bool is_subnormal = x.kind == Number::Kind::finite && x.significand != 0 && x.significand >> f.fraction_bits == 0;
  return is_subnormal ? signed_bits(x.negative, 0, f) : bits;
}

std::uint64_t saturate(std::uint64_t bits, const Format& f) {
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias()) << f.fraction_bits;
  if (is_nan(bits, f) || compare(bits, 0, f) <= 0) return 0;
  return compare(bits, one, f) > 0 ? one : bits;
}

Exact round_integral(const Number& finite, Rounding mode) {
  const Exact value = exact(finite);
  if (mode != Rounding::rni && mode != Rounding::rzi && mode != Rounding::rmi && mode != Rounding::rpi) return value;
  const int units = Exact::kScale;
  if (value.top_bit() > units + 100) return value;
  Wide whole = 0;
  for (int i = value.top_bit(); i >= units; --i) whole = whole << 1 | (value.bit(i) ? 1 : 0);
  if (goes_up((whole & 1) != 0, value.bit(units - 1), value.any_below(units - 1), mode, value.negative)) ++whole;
  Exact result;
  result.negative = value.negative;
  result.add_scaled(whole, 0);
  return result;
}

double to_double(std::uint64_t bits, const Format& f) {
  const Number x = decode(bits, f);
  if (x.is_nan()) return std::bit_cast<double>(kF64.nan);
  if (x.is_infinite()) return std::bit_cast<double>(signed_bits(x.negative, kF64.infinity(), kF64));
  return std::bit_cast<double>(round(exact(x), kF64, Rounding::rn));
}

}  // namespace kforge::emulator::reference
