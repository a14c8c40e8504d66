// Values that break kernels which random ones do not: zeros, denormals, large, mixed_signs, repeated_integers, negative,
// positive (contracts.md, "Values").
// All stay inside the range that the tensor declares: a tensor whose range has no such value keeps its declared distribution.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "task/random.h"
#include "task/values.h"

namespace kforge::task {

inline constexpr std::array<std::string_view, 7> kAdversarialKinds{"zeros", "denormals", "large", "mixed_signs", "repeated_integers", "negative", "positive"};
bool is_adversarial(std::string_view values);

// The value at an element index.
using Generator = std::function<double(const CounterRandom&, std::uint64_t)>;

// Nothing when the kind does not apply to the tensor (its range or type has no such values, or its distribution carries
// meaning). REQUIRES: `arguments` as arguments_at gives them.
//   zeros              0
//   denormals          +-(1 .. 2^mantissa bits - 1) smallest subnormals of the type
//   large              unbounded: mean +- 64 to 1024 standard deviations, at most the type's largest; bounded: either end
//   mixed_signs        +-2^-8 to 2^3 standard deviations (bounded: of the nearer end), signs at random: sums cancel
//   repeated_integers  integers from -8 to 8 times one power of two, so that sums are exact and ties are frequent
//   negative, positive 2^-8 to 2^3 standard deviations, all on one side of zero, where the range has both
std::optional<Generator> adversarial(std::string_view kind, const Values& values, const std::vector<double>& arguments, Dtype dtype);

}  // namespace kforge::task
