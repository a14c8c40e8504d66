#include "judge/element_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace kforge::judge {
namespace {

constexpr std::size_t kLanes = 4;   // sums that do not wait for each other
using Lanes = std::array<double, kLanes>;

double sum_of(const Lanes& lanes) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }

}  // namespace

ReferenceSums sum_references(std::span<const double> values, double most) {
  Lanes squares{}, lowest, highest;
  lowest.fill(std::numeric_limits<double>::infinity());
  highest.fill(-std::numeric_limits<double>::infinity());
  const auto add = [&](std::size_t lane, double value) {
    squares[lane] += value * value;
    lowest[lane] = value < lowest[lane] ? value : lowest[lane];
    highest[lane] = value > highest[lane] ? value : highest[lane];
  };
  bool strange = false;
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      add(lane, values[i + lane]);
      strange |= !(std::abs(values[i + lane]) <= most);
    }
  for (; i < values.size(); ++i) {
    add(0, values[i]);
    strange |= !(std::abs(values[i]) <= most);
  }
  return {!strange, sum_of(squares), *std::min_element(lowest.begin(), lowest.end()), *std::max_element(highest.begin(), highest.end())};
}

ElementSums sum_elements(const std::byte* out, std::span<const double> references, const ElementLimits& limits) {
  const ElementLimits l = limits;   // by value: the loop need not ask whether it changed
  Lanes error_sum{}, squares_error{}, squares_out{}, squares_reference{}, dot{}, largest{};
  unsigned strange = 0;
  const auto add = [&](std::size_t lane, std::size_t i) {
    float narrow;
    std::memcpy(&narrow, out + i * sizeof narrow, sizeof narrow);
    const double value = narrow, reference = references[i], size = std::abs(reference), error = std::abs(value - reference);
    const double bound = l.factor * (l.relative * size + l.absolute) + l.floor;
    strange |= static_cast<unsigned>(!(size <= l.most)) | static_cast<unsigned>(!(std::abs(value) <= std::numeric_limits<double>::max())) | static_cast<unsigned>(!(error <= bound));
    strange |= static_cast<unsigned>(error > 0) & (static_cast<unsigned>(!(error < l.known_relative * size)) | static_cast<unsigned>(!(error < l.known_excess * bound)));
    error_sum[lane] += error;
    squares_error[lane] += error * error;
    squares_out[lane] += value * value;
    squares_reference[lane] += reference * reference;
    dot[lane] += value * reference;
    largest[lane] = error > largest[lane] ? error : largest[lane];
  };
  std::size_t i = 0;
  for (; i + kLanes <= references.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, i + lane);
  for (; i < references.size(); ++i) add(0, i);
  return {strange == 0, sum_of(error_sum), sum_of(squares_error), sum_of(squares_out), sum_of(squares_reference), sum_of(dot), *std::max_element(largest.begin(), largest.end())};
}

}  // namespace kforge::judge
