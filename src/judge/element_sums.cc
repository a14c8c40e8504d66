#include "judge/element_sums.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "judge/element_sums_avx2.h"

namespace kforge::judge {
namespace {

bool has_avx2() {
  static const bool found = __builtin_cpu_supports("avx2");
  return found;
}

double sum_of(const double (&lanes)[kLanes]) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }

// As add_references_avx2, from element `i` on; those after the last whole four go to the first lane.
void add_references(std::span<const double> values, std::size_t i, double most, ReferenceLanes& lanes) {
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (; i < values.size(); ++i) {
    const std::size_t lane = i < whole ? i % kLanes : 0;
    const double value = values[i];
    lanes.squares[lane] += value * value;
    lanes.lowest[lane] = value < lanes.lowest[lane] ? value : lanes.lowest[lane];
    lanes.highest[lane] = value > lanes.highest[lane] ? value : lanes.highest[lane];
    lanes.strange |= !(std::abs(value) <= most);
  }
}

void add_elements(const std::byte* out, std::span<const double> references, std::size_t i, const ElementLimits& l, ElementLanes& lanes) {
  const std::size_t whole = references.size() / kLanes * kLanes;
  for (; i < references.size(); ++i) {
    const std::size_t lane = i < whole ? i % kLanes : 0;
    float narrow;
    std::memcpy(&narrow, out + i * sizeof narrow, sizeof narrow);
    const double value = narrow, reference = references[i], size = std::abs(reference), error = std::abs(value - reference);
    const double bound = l.factor * (l.relative * size + l.absolute) + l.floor;
    lanes.strange |= !(size <= l.most) || !(std::abs(value) <= std::numeric_limits<double>::max()) || !(error <= bound) ||
                     (error > 0 && (!(error < l.known_relative * size) || !(error < l.known_excess * bound)));
    lanes.error[lane] += error;
    lanes.squares_error[lane] += error * error;
    lanes.squares_out[lane] += value * value;
    lanes.squares_reference[lane] += reference * reference;
    lanes.dot[lane] += value * reference;
    lanes.largest[lane] = error > lanes.largest[lane] ? error : lanes.largest[lane];
  }
}

}  // namespace

ReferenceSums sum_references(std::span<const double> values, double most, bool wide) {
  ReferenceLanes lanes{};
  std::fill(std::begin(lanes.lowest), std::end(lanes.lowest), std::numeric_limits<double>::infinity());
  std::fill(std::begin(lanes.highest), std::end(lanes.highest), -std::numeric_limits<double>::infinity());
  const std::size_t done = wide && has_avx2() ? add_references_avx2(values.data(), values.size(), most, lanes) : 0;
  add_references(values, done, most, lanes);
  return {!lanes.strange, sum_of(lanes.squares), *std::min_element(std::begin(lanes.lowest), std::end(lanes.lowest)), *std::max_element(std::begin(lanes.highest), std::end(lanes.highest))};
}

ElementSums sum_elements(const std::byte* out, std::span<const double> references, const ElementLimits& limits, bool wide) {
  ElementLanes lanes{};
  const std::size_t done = wide && has_avx2() ? add_elements_avx2(reinterpret_cast<const float*>(out), references.data(), references.size(), limits, lanes) : 0;
  add_elements(out, references, done, limits, lanes);
  return {!lanes.strange, sum_of(lanes.error), sum_of(lanes.squares_error), sum_of(lanes.squares_out), sum_of(lanes.squares_reference), sum_of(lanes.dot),
          *std::max_element(std::begin(lanes.largest), std::end(lanes.largest))};
}

}  // namespace kforge::judge
