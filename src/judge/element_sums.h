// Sums over stretches of elements in which nothing stands out, which most of a right output is: without a branch an element, several at a time. Where
// something does stand out (a new worst error, a mismatch, a value that is not finite), `plain` is false and the caller looks at each element.
#pragma once

#include <cstddef>
#include <span>

namespace kforge::judge {

// Of reference values; `squares`, `lowest` and `highest` hold where all are finite and none is beyond `most`.
struct ReferenceSums {
  bool plain = true;
  double squares = 0, lowest = 0, highest = 0;
};
// `wide`: by AVX2 where the processor has it; the sums are the same.
ReferenceSums sum_references(std::span<const double> values, double most, bool wide = true);

// The bound of an element is factor * (relative * |reference| + absolute) + floor.
struct ElementLimits {
  double factor = 0, relative = 0, absolute = 0, floor = 0;
  double most = 0;              // the output type's largest finite number
  double known_relative = 0;    // errors below it, times |reference|, are not the largest relative one
  double known_excess = 0;      // errors below it, times the bound, are not the worst one
};

// Of outputs beside their references; all but `plain` hold where `plain` does. An error is |output - reference|.
struct ElementSums {
  bool plain = true;
  double error = 0, squares_error = 0, squares_out = 0, squares_reference = 0, dot = 0, largest_error = 0;
};
// REQUIRES: `out` holds references.size() values of type float, at any alignment.
ElementSums sum_elements(const std::byte* out, std::span<const double> references, const ElementLimits& limits, bool wide = true);

}  // namespace kforge::judge
