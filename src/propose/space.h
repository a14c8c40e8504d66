// A discrete constrained space: every combination of choices that the rules leave. It knows nothing of kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace kforge::propose {

struct Dimension {
  std::string name;
  std::vector<std::int64_t> choices;   // ascending, each once
};

using Values = std::map<std::string, std::int64_t>;   // by dimension

class Space {
 public:
  // `valid` prunes; it is asked once a combination. At most kMaxPoints combinations are looked at: of a larger product an evenly
  // spread part is kept.
  Space(std::vector<Dimension> dimensions, const std::function<bool(const Values&)>& valid);
  static constexpr std::size_t kMaxPoints = 1 << 18;

  std::size_t size() const { return points_.size(); }
  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  Values values(std::size_t point) const;
  // The choice's index in each dimension.
  const std::vector<std::uint16_t>& choices(std::size_t point) const { return points_[point]; }
  // Choices as numbers of [0, 1] a dimension: by logarithm where all are positive, else by rank.
  std::vector<double> features(std::size_t point) const;
  // size() when the space has no such point.
  std::size_t find(const Values& values) const;
  // Points that differ in one dimension, by one step (or, where the step is pruned, by the next one that is there).
  std::vector<std::size_t> neighbours(std::size_t point) const;

 private:
  std::size_t find_choices(const std::vector<std::uint16_t>& choices) const;
  std::vector<Dimension> dimensions_;
  std::vector<std::vector<std::uint16_t>> points_;          // ascending
  std::vector<std::vector<double>> scaled_;                 // feature of each choice
};

}  // namespace kforge::propose
