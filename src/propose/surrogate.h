// A Gaussian process over points of the unit cube: what a value is likely to be where nobody has looked, and how sure that is.
//
// Matern 5/2 kernel with a length scale a dimension; scales, signal and noise by maximum marginal likelihood (Rasmussen and Williams,
// Gaussian Processes for Machine Learning, 2006, chapters 2, 4 and 5), searched by seeded random draws and coordinate steps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace kforge::propose {

struct Prediction {
  double mean = 0, deviation = 0;
};

class Surrogate {
 public:
  Surrogate();
  ~Surrogate();
  Surrogate(Surrogate&&) noexcept;
  Surrogate& operator=(Surrogate&&) noexcept;

  // Learns values at points, all of one length. `tune`: the hyperparameters too, else those of the last call stay.
  void fit(const std::vector<std::vector<double>>& points, std::span<const double> values, bool tune, std::uint64_t seed);
  // Of each point. Before a fit: mean 0, deviation 1.
  std::vector<Prediction> predict(const std::vector<std::vector<double>>& points) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kforge::propose
