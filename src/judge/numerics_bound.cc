#include "judge/numerics_bound.h"

#include <limits>

namespace kforge::judge {

Norms norms(std::span<const double> values) {
  if (const ReferenceSums sums = sum_references(values, std::numeric_limits<double>::max()); sums.plain) return {sums.squares, values.size()};
  Norms out;
  for (const double value : values)
    if (std::isfinite(value)) {
      out.sum_squares += value * value;
      ++out.count;
    }
  return out;
}

}  // namespace kforge::judge
