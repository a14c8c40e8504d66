// The sums of element_sums.h by AVX2, four lanes in one register. REQUIRES: a processor that has it.
#pragma once

#include <cstddef>

#include "judge/element_sums.h"

namespace kforge::judge {

inline constexpr std::size_t kLanes = 4;   // sums that do not wait for each other

struct ReferenceLanes {
  double squares[kLanes], lowest[kLanes], highest[kLanes];
  bool strange = false;      // a value that is not finite, or beyond the most
};

struct ElementLanes {
  double error[kLanes], squares_error[kLanes], squares_out[kLanes], squares_reference[kLanes], dot[kLanes], largest[kLanes];
  bool strange = false;
};

// Each adds the values up to the last whole four to `lanes`, and returns how many these were. `out` may lie at any address.
std::size_t add_references_avx2(const double* values, std::size_t count, double most, ReferenceLanes& lanes);
std::size_t add_elements_avx2(const float* out, const double* references, std::size_t count, const ElementLimits& limits, ElementLanes& lanes);

}  // namespace kforge::judge
