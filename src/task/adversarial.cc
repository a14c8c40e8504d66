#include "task/adversarial.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "task/dtype_convert.h"

namespace kforge::task {
namespace {

struct Declared {
  ValueRange range;
  bool bounded = false;
  double mean = 0, deviation = 1;   // of an unbounded one
  Dtype dtype = Dtype::f32;
};

bool odd(std::uint64_t bits) { return (bits & 1) != 0; }

std::optional<Generator> zeros(const Declared& d) {
  if (!d.range.contains(0)) return std::nullopt;
  return [](const CounterRandom&, std::uint64_t) { return 0.0; };
}

std::optional<Generator> denormals(const Declared& d) {
  if (!is_float(d.dtype) || (d.bounded && d.range.lowest > 0) || d.range.highest < min_normal(d.dtype)) return std::nullopt;
  const bool negative = d.range.lowest <= -min_normal(d.dtype);
  const double step = smallest_subnormal(d.dtype);
  const auto count = (std::uint64_t{1} << row(d.dtype).format.mantissa_bits) - 1;
  return [=](const CounterRandom& random, std::uint64_t i) {
    const double magnitude = step * static_cast<double>(1 + random.below(i, count));
    return negative && odd(random.bits(i)) ? -magnitude : magnitude;
  };
}

std::optional<Generator> large(const Declared& d) {
  const auto range = d.range;
  if (d.bounded) return [=](const CounterRandom& random, std::uint64_t i) { return odd(random.bits(i)) ? range.lowest : range.highest; };
  const double mean = d.mean, deviation = d.deviation;
  return [=](const CounterRandom& random, std::uint64_t i) {
    const double magnitude = deviation * std::exp2(6 + 4 * random.unit(i));
    return std::clamp(mean + (odd(random.bits(i)) ? -magnitude : magnitude), range.lowest, range.highest);
  };
}

std::optional<Generator> mixed_signs(const Declared& d) {
  const auto range = d.range;
  if (range.lowest >= 0 || range.highest <= 0) return std::nullopt;
  const double scale = d.bounded ? std::min(-range.lowest, range.highest) / 8 : d.deviation;
  return [=](const CounterRandom& random, std::uint64_t i) {
    const double magnitude = scale * std::exp2(-8 + 11 * random.unit(i));
    return std::clamp(odd(random.bits(i)) ? -magnitude : magnitude, range.lowest, range.highest);
  };
}

// Magnitudes as mixed_signs has them, all on one side of zero: a maximum that starts from 0 shows where everything lies below it.
std::optional<Generator> one_side(const Declared& d, double sign) {
  const auto range = d.range;
  if (range.lowest >= 0 || range.highest <= 0) return std::nullopt;
  const double scale = d.bounded ? std::min(-range.lowest, range.highest) / 8 : d.deviation;
  const double least = is_float(d.dtype) ? 0 : 1;
  return [=](const CounterRandom& random, std::uint64_t i) {
    return std::clamp(sign * std::max(least, scale * std::exp2(-8 + 11 * random.unit(i))), range.lowest, range.highest);
  };
}
std::optional<Generator> negative(const Declared& d) { return one_side(d, -1); }
std::optional<Generator> positive(const Declared& d) { return one_side(d, 1); }

// The power of two for which most of -8 .. 8 lies inside the range.
double integer_step(const Declared& d) {
  const double reach = d.bounded ? std::max(std::abs(d.range.lowest), std::abs(d.range.highest)) / 8 : d.deviation;
  const int least = is_float(d.dtype) ? row(d.dtype).format.min_exponent() : 0;
  const int exponent = reach > 0 ? static_cast<int>(std::floor(std::log2(reach))) : 0;
  return std::ldexp(1.0, std::clamp(exponent, least, 900));
}

std::optional<Generator> repeated_integers(const Declared& d) {
  const double step = integer_step(d);
  const double first = std::max(-8.0, std::ceil(d.range.lowest / step)), last = std::min(8.0, std::floor(d.range.highest / step));
  if (first >= last) return std::nullopt;
  const auto count = static_cast<std::uint64_t>(last - first) + 1;
  return [=](const CounterRandom& random, std::uint64_t i) { return step * (first + static_cast<double>(random.below(i, count))); };
}

constexpr std::array<std::pair<std::string_view, std::optional<Generator> (*)(const Declared&)>, 7> kMakers{{
    {"zeros", zeros}, {"denormals", denormals}, {"large", large}, {"mixed_signs", mixed_signs}, {"repeated_integers", repeated_integers},
    {"negative", negative}, {"positive", positive},
}};

}  // namespace

bool is_adversarial(std::string_view values) { return std::find(kAdversarialKinds.begin(), kAdversarialKinds.end(), values) != kAdversarialKinds.end(); }

std::optional<Generator> adversarial(std::string_view kind, const Values& values, const std::vector<double>& arguments, Dtype dtype) {
  if (!is_drawn(values) || dtype == Dtype::boolean) return std::nullopt;
  Declared declared{declared_range(values, arguments, dtype), values.kind != "normal", 0, 1, dtype};
  if (!declared.bounded) {
    declared.mean = arguments[0];
    declared.deviation = arguments[1];
    if (declared.deviation == 0) return std::nullopt;
  }
  for (const auto& [name, make] : kMakers)
    if (name == kind) return make(declared);
  return std::nullopt;
}

}  // namespace kforge::task
