#include "task/dtype_convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace kforge::task {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// `value` / 2^shift, to nearest, ties to even. `shift` > 0.
std::uint64_t shift_right_rounded(std::uint64_t value, int shift) {
  if (shift > 63) return 0;
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = value & ((half << 1) - 1);
  std::uint64_t quotient = value >> shift;
  if (rest > half || (rest == half && (quotient & 1) != 0)) ++quotient;
  return quotient;
}

std::uint32_t largest_finite_code(const FloatFormat& format) {
  const std::uint32_t all_exponents = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
  const std::uint32_t all_mantissa = (1u << format.mantissa_bits) - 1;
  if (format.overflow == Overflow::saturate_no_infinity) return (all_exponents | all_mantissa) - 1;
  return all_exponents - 1;
}

std::uint32_t nan_code(const FloatFormat& format) {
  // The NaN that the hardware makes is all ones in every narrow format (PTX manual, "canonical NaN").
  return (1u << (format.exponent_bits + format.mantissa_bits)) - 1;
}

}  // namespace

std::uint32_t encode_bits(const FloatFormat& format, double value) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 63) << (format.exponent_bits + format.mantissa_bits);
  const int biased = static_cast<int>((bits >> 52) & 0x7ff);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const std::uint32_t largest = largest_finite_code(format);
  const std::uint32_t beyond = format.overflow == Overflow::infinity ? largest + 1 : largest;
  if (biased == 0x7ff) return fraction != 0 ? nan_code(format) : sign | beyond;
  if (biased == 0) return sign;  // a double's subnormals are far below half of any narrow format's smallest
  const int exponent = biased - 1023;
  const std::uint64_t significand = fraction | (std::uint64_t{1} << 52);
  const int below = std::max(0, format.min_exponent() - exponent);  // > 0: the result is subnormal
  const std::uint64_t rounded = shift_right_rounded(significand, 52 - format.mantissa_bits + below);
  // A significand that rounds up to the next power of two carries into the exponent by plain addition.
  const std::int64_t code = below > 0 ? static_cast<std::int64_t>(rounded)
                                      : (static_cast<std::int64_t>(exponent + format.bias() - 1) << format.mantissa_bits) +
                                            static_cast<std::int64_t>(rounded);
  return sign | (code > static_cast<std::int64_t>(largest) ? beyond : static_cast<std::uint32_t>(code));
}

double decode_bits(const FloatFormat& format, std::uint32_t bits) {
  const std::uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const std::uint32_t exponent = (bits >> format.mantissa_bits) & ((1u << format.exponent_bits) - 1);
  const bool negative = ((bits >> (format.mantissa_bits + format.exponent_bits)) & 1) != 0;
  const std::uint32_t magnitude = (exponent << format.mantissa_bits) | mantissa;
  double value = 0;
  if (magnitude > largest_finite_code(format)) {
    const bool infinite = format.overflow != Overflow::saturate_no_infinity && mantissa == 0;
    value = infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, format.min_exponent() - format.mantissa_bits);
  } else {
    value = std::ldexp(mantissa | (1u << format.mantissa_bits), static_cast<int>(exponent) - format.bias() - format.mantissa_bits);
  }
  return negative ? -value : value;
}

std::uint16_t to_f16_bits(double value) { return static_cast<std::uint16_t>(encode_bits(row(Dtype::f16).format, value)); }
double from_f16_bits(std::uint16_t bits) { return decode_bits(row(Dtype::f16).format, bits); }
std::uint16_t to_bf16_bits(double value) { return static_cast<std::uint16_t>(encode_bits(row(Dtype::bf16).format, value)); }
double from_bf16_bits(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
std::uint8_t to_e4m3_bits(double value) { return static_cast<std::uint8_t>(encode_bits(row(Dtype::e4m3).format, value)); }
double from_e4m3_bits(std::uint8_t bits) { return decode_bits(row(Dtype::e4m3).format, bits); }
std::uint8_t to_e5m2_bits(double value) { return static_cast<std::uint8_t>(encode_bits(row(Dtype::e5m2).format, value)); }
double from_e5m2_bits(std::uint8_t bits) { return decode_bits(row(Dtype::e5m2).format, bits); }
float to_tf32(double value) { return std::bit_cast<float>(encode_bits(row(Dtype::tf32).format, value) << 13); }

double max_finite(Dtype dtype) {
  if (dtype == Dtype::f64) return std::numeric_limits<double>::max();
  const auto& type = row(dtype);
  return type.floating ? decode_bits(type.format, largest_finite_code(type.format)) : type.highest;
}

double min_normal(Dtype dtype) { return std::ldexp(1.0, row(dtype).format.min_exponent()); }

double smallest_subnormal(Dtype dtype) {
  const auto& format = row(dtype).format;
  return std::ldexp(1.0, format.min_exponent() - format.mantissa_bits);
}

double unit_roundoff(Dtype dtype) { return is_float(dtype) ? std::ldexp(1.0, -row(dtype).format.mantissa_bits - 1) : 0.0; }

double round_to(Dtype dtype, double value) {
  const auto& type = row(dtype);
  switch (dtype) {
    case Dtype::f64: return value;
    case Dtype::f32: return static_cast<float>(value);
    case Dtype::boolean: return value >= 0.5 ? 1.0 : 0.0;
    default: break;
  }
  if (type.floating) return decode_bits(type.format, encode_bits(type.format, value));
  return std::isnan(value) ? 0.0 : std::clamp(std::nearbyint(value), type.lowest, type.highest);
}

double load_element(Dtype dtype, const std::byte* at) {
  switch (dtype) {
    case Dtype::f64: return load<double>(at);
    case Dtype::f32:
    case Dtype::tf32: return load<float>(at);
    case Dtype::f16: return from_f16_bits(load<std::uint16_t>(at));
    case Dtype::bf16: return from_bf16_bits(load<std::uint16_t>(at));
    case Dtype::e4m3: return from_e4m3_bits(load<std::uint8_t>(at));
    case Dtype::e5m2: return from_e5m2_bits(load<std::uint8_t>(at));
    default: return static_cast<double>(load_integer(dtype, at));
  }
}

void store_element(Dtype dtype, std::byte* at, double value) {
  switch (dtype) {
    case Dtype::f64: return store(at, value);
    case Dtype::f32: return store(at, static_cast<float>(value));
    case Dtype::tf32: return store(at, to_tf32(value));
    case Dtype::f16: return store(at, to_f16_bits(value));
    case Dtype::bf16: return store(at, to_bf16_bits(value));
    case Dtype::e4m3: return store(at, to_e4m3_bits(value));
    case Dtype::e5m2: return store(at, to_e5m2_bits(value));
    default: return store_integer(dtype, at, static_cast<std::int64_t>(round_to(dtype, value)));
  }
}

std::int64_t load_integer(Dtype dtype, const std::byte* at) {
  switch (dtype) {
    case Dtype::i8: return load<std::int8_t>(at);
    case Dtype::i32: return load<std::int32_t>(at);
    case Dtype::u32: return load<std::uint32_t>(at);
    case Dtype::i64: return load<std::int64_t>(at);
    default: return load<std::uint8_t>(at);  // u8, and bool as the byte that is there
  }
}

void store_integer(Dtype dtype, std::byte* at, std::int64_t value) {
  switch (size_bytes(dtype)) {
    case 1: return store(at, static_cast<std::uint8_t>(value));
    case 4: return store(at, static_cast<std::uint32_t>(value));
    default: return store(at, value);
  }
}

}  // namespace kforge::task
