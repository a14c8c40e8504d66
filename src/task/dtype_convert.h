// The number formats of a task: one table row each, and exact conversions between them and double. Rounding is to nearest,
// ties to even, straight from double (never through a second format, which would round twice).
//
// 8-bit floats saturate, as the only conversion that the hardware has (`cvt.rn.satfinite`, PTX manual); NaN stays NaN.
// tf32 is stored as an f32 whose 13 low mantissa bits are zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "task/task.h"

namespace kforge::task {

enum class Overflow : std::uint8_t {
  infinity,              // rounds to infinity (IEEE 754)
  saturate,              // to the largest finite number; infinities exist as values (e5m2)
  saturate_no_infinity,  // the all-ones exponent is used for numbers too, only the all-ones code is NaN (e4m3)
};

struct FloatFormat {
  int exponent_bits = 0;
  int mantissa_bits = 0;  // stored
  Overflow overflow = Overflow::infinity;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int min_exponent() const { return 1 - bias(); }  // of the smallest normal number
};

struct DtypeRow {
  Dtype id;
  std::string_view name;
  std::uint32_t bytes;
  bool floating;
  std::string_view cuda_type;
  FloatFormat format;       // floating ones
  double lowest = 0;        // integers: the range, as doubles that convert back without overflow
  double highest = 0;
};

std::span<const DtypeRow> dtype_table();
const DtypeRow& row(Dtype dtype);

double max_finite(Dtype dtype);         // integers: the largest value
double min_normal(Dtype dtype);         // floating ones only
double smallest_subnormal(Dtype dtype); // floating ones only
double unit_roundoff(Dtype dtype);      // half an ulp of 1.0: 2^-24 for f32; 0 for integers

// The bits of `value` in a format of at most 32 bits (sign, exponent, mantissa; no padding), and back.
std::uint32_t encode_bits(const FloatFormat& format, double value);
double decode_bits(const FloatFormat& format, std::uint32_t bits);

std::uint16_t to_f16_bits(double value);
double from_f16_bits(std::uint16_t bits);
std::uint16_t to_bf16_bits(double value);
double from_bf16_bits(std::uint16_t bits);
std::uint8_t to_e4m3_bits(double value);
double from_e4m3_bits(std::uint8_t bits);
std::uint8_t to_e5m2_bits(double value);
double from_e5m2_bits(std::uint8_t bits);
float to_tf32(double value);

// `value` rounded to the type. Integers: nearest, ties to even, clamped to the range, NaN to 0; bool: value >= 0.5.
double round_to(Dtype dtype, double value);

// One element in memory. REQUIRES: size_bytes(dtype) bytes at `at`; no alignment is needed. i64 beyond 2^53 rounds in
// load_element: use load_integer for exact work.
double load_element(Dtype dtype, const std::byte* at);
void store_element(Dtype dtype, std::byte* at, double value);
std::int64_t load_integer(Dtype dtype, const std::byte* at);  // REQUIRES: an integer type
void store_integer(Dtype dtype, std::byte* at, std::int64_t value);  // wraps as a C conversion does

}  // namespace kforge::task
