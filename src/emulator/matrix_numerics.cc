#include "emulator/matrix_numerics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "emulator/formats.h"

namespace kforge::emulator {
namespace {

struct ModelRow {
  int from_sm;
  bool is_f8, is_tf32;
  TensorModel model;
};
// The first row that fits, newest first.
constexpr ModelRow kModels[] = {
    {90, true, false, {32, 13}}, {90, false, true, {8, 25}}, {90, false, false, {16, 25}},
    {80, true, false, {16, 13}}, {80, false, true, {4, 24}}, {80, false, false, {8, 24}},
    {0, false, false, {4, 23}},
};

// Exponent of a finite value's leading bit, subnormals of its format at the smallest normal one.
int exponent_of(float x, int smallest) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const int field = static_cast<int>(bits >> 23 & 0xff);
  return std::max(field == 0 ? -126 : field - 127, smallest);
}

std::int64_t significand_of(float x) {   // times 2^(exponent - 23), exponent as stored
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::int64_t fraction = bits & 0x7fffff, whole = (bits >> 23 & 0xff) == 0 ? fraction : fraction | 0x800000;
  return (bits >> 31) != 0 ? -whole : whole;
}

int stored_exponent(float x) { return exponent_of(x, -126); }

// value * 2^shift towards zero.
std::int64_t cut_off(std::int64_t value, int shift) {
  if (shift >= 0) return value << shift;
  if (shift < -62) return 0;
  return value < 0 ? -(-value >> -shift) : value >> -shift;
}

float towards_zero(double exact) {
  if (std::fabs(exact) >= 0x1p128) return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(exact));
  float nearest = static_cast<float>(exact);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(exact)) nearest = std::nextafter(nearest, 0.0f);
  return nearest;
}

// Infinities and NaN; false: all is finite.
bool special(const Multiplicands& a, const Multiplicands& b, std::uint32_t count, float c, float& result) {
  float sum = std::isfinite(c) ? 0.0f : c;
  bool found = !std::isfinite(c);
  for (std::uint32_t i = 0; i < count; ++i) {
    const float x = a[i], y = b[i];
    if (std::isfinite(x) && std::isfinite(y)) continue;
    found = true;
    sum += x * y;   // inf, or NaN
  }
  if (!found) return false;
  result = sum == sum ? sum : std::bit_cast<float>(0x7fffffffu);
  return true;
}

}  // namespace

TensorModel tensor_model(int sm, ptx::Type multiplicand) {
  const bool is_f8 = multiplicand == ptx::Type::e4m3 || multiplicand == ptx::Type::e5m2, is_tf32 = multiplicand == ptx::Type::tf32;
  for (const ModelRow& row : kModels)
    if (sm >= row.from_sm && row.is_f8 == is_f8 && row.is_tf32 == is_tf32) return row.model;
  return {};
}

int smallest_exponent(ptx::Type multiplicand) {
  switch (multiplicand) {
    case ptx::Type::f16: case ptx::Type::e5m2: return -14;
    case ptx::Type::e4m3: return -6;
    default: return -126;
  }
}

float add_block(const TensorModel& model, const Multiplicands& a, const Multiplicands& b, std::uint32_t count, float c, bool half) {
  float result = 0;
  if (special(a, b, count, c, result)) return result;
  const int smallest_a = smallest_exponent(a.type), smallest_b = smallest_exponent(b.type);
  constexpr int kNone = std::numeric_limits<int>::min();
  int top = c != 0 ? stored_exponent(c) : kNone;
  for (std::uint32_t i = 0; i < count; ++i) {
    const float x = a[i], y = b[i];
    if (x != 0 && y != 0) top = std::max(top, exponent_of(x, smallest_a) + exponent_of(y, smallest_b));
  }
  if (top == kNone) return 0.0f;
  const int unit = top - model.fraction;
  std::int64_t sum = cut_off(significand_of(c), stored_exponent(c) - 23 - unit);
  for (std::uint32_t i = 0; i < count; ++i) {
    const float x = a[i], y = b[i];
    sum += cut_off(significand_of(x) * significand_of(y), stored_exponent(x) + stored_exponent(y) - 46 - unit);
  }
  const double exact = std::ldexp(static_cast<double>(sum), unit);
  if (half) return static_cast<float>(decode_format(encode_format(exact, kF16), kF16));
  return towards_zero(exact);
}

}  // namespace kforge::emulator
