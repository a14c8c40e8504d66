#include "propose/surrogate.h"

#include <algorithm>
#include <cmath>

#include <eigen3/Eigen/Dense>

#include "task/random.h"

namespace kforge::propose {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

Matrix matrix_of(const std::vector<std::vector<double>>& points) {
  const auto dimensions = points.empty() ? 0 : static_cast<Eigen::Index>(points[0].size());
  Matrix out(static_cast<Eigen::Index>(points.size()), dimensions);
  for (Eigen::Index r = 0; r < out.rows(); ++r)
    for (Eigen::Index c = 0; c < dimensions; ++c) out(r, c) = points[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
  return out;
}

// Between the rows of two matrices whose columns are already divided by their length scales.
Matrix kernel(const Matrix& a, const Matrix& b) {
  Matrix squares = (-2.0 * a * b.transpose()).colwise() + a.rowwise().squaredNorm();
  squares.rowwise() += b.rowwise().squaredNorm().transpose();
  return squares.unaryExpr([](double square) {
    const double r = std::sqrt(5.0 * std::max(square, 0.0));
    return (1.0 + r + r * r / 3.0) * std::exp(-r);
  });
}

struct Parameters {
  Vector log_scales;
  double log_noise = std::log(1e-3);   // variance, in units of the signal's
};

}  // namespace

struct Surrogate::State {
  Parameters parameters;
  Matrix points, scaled;
  Vector weights;
  Eigen::LLT<Matrix> factor;
  double mean = 0, signal = 1;       // of the values; signal: variance

  Matrix scale(const Matrix& m) const { return m * parameters.log_scales.array().exp().inverse().matrix().asDiagonal(); }
};

namespace {

// Minus twice the log marginal likelihood, up to a constant, with the signal's variance at its optimum; plus a weak prior on the scales
// (log-normal around 0.5 with deviation 1), which a handful of points cannot tell.
double misfit(const Matrix& points, const Vector& values, const Parameters& p) {
  const Matrix scaled = points * p.log_scales.array().exp().inverse().matrix().asDiagonal();
  Matrix k = kernel(scaled, scaled);
  k.diagonal().array() += std::exp(p.log_noise) + 1e-9;
  const Eigen::LLT<Matrix> factor(k);
  if (factor.info() != Eigen::Success) return INFINITY;
  const double n = static_cast<double>(values.size());
  const double signal = std::max(values.dot(factor.solve(values)) / n, 1e-12);
  double log_determinant = 0;
  const Matrix l = factor.matrixL();
  for (Eigen::Index i = 0; i < l.rows(); ++i) log_determinant += 2 * std::log(l(i, i));
  const double prior = (p.log_scales.array() - std::log(0.5)).square().sum() + 0.25 * std::pow(p.log_noise - std::log(1e-3), 2);
  return n * std::log(signal) + log_determinant + prior;
}

Parameters tuned(const Matrix& points, const Vector& values, const Parameters& start, std::uint64_t seed) {
  const task::CounterRandom random(seed);
  std::uint64_t draw = 0;
  Parameters best = start;
  double least = misfit(points, values, best);
  const auto consider = [&](const Parameters& p) {
    const double own = misfit(points, values, p);
    if (own < least) least = own, best = p;
  };
  for (int i = 0; i < 16; ++i) {
    Parameters p = start;
    for (double& s : p.log_scales) s = std::log(0.1) + random.unit(draw++) * std::log(30.0);
    p.log_noise = std::log(1e-5) + random.unit(draw++) * std::log(3e3);
    consider(p);
  }
  for (double step = 0.8; step > 0.15; step /= 2)
    for (Eigen::Index d = 0; d <= best.log_scales.size(); ++d)
      for (const double sign : {-1.0, 1.0}) {
        Parameters p = best;
        if (d < p.log_scales.size()) p.log_scales[d] = std::clamp(p.log_scales[d] + sign * step, std::log(0.05), std::log(10.0));
        else p.log_noise = std::clamp(p.log_noise + sign * 2 * step, std::log(1e-6), std::log(0.1));
        consider(p);
      }
  return best;
}

}  // namespace

Surrogate::Surrogate() = default;
Surrogate::~Surrogate() = default;
Surrogate::Surrogate(Surrogate&&) noexcept = default;
Surrogate& Surrogate::operator=(Surrogate&&) noexcept = default;

void Surrogate::fit(const std::vector<std::vector<double>>& points, std::span<const double> values, bool tune, std::uint64_t seed) {
  if (points.empty() || points.size() != values.size()) {
    state_.reset();
    return;
  }
  auto next = std::make_unique<State>();
  next->points = matrix_of(points);
  Vector y(static_cast<Eigen::Index>(values.size()));
  for (Eigen::Index i = 0; i < y.size(); ++i) y[i] = values[static_cast<std::size_t>(i)];
  next->mean = y.mean();
  y.array() -= next->mean;
  next->parameters.log_scales = Vector::Constant(next->points.cols(), std::log(0.5));
  if (state_ && state_->parameters.log_scales.size() == next->points.cols()) next->parameters = state_->parameters;
  if (tune) next->parameters = tuned(next->points, y, next->parameters, seed);
  next->scaled = next->scale(next->points);
  Matrix k = kernel(next->scaled, next->scaled);
  k.diagonal().array() += std::exp(next->parameters.log_noise) + 1e-9;
  next->factor.compute(k);
  next->weights = next->factor.solve(y);
  next->signal = std::max(y.dot(next->weights) / static_cast<double>(y.size()), 1e-12);
  state_ = std::move(next);
}

std::vector<Prediction> Surrogate::predict(const std::vector<std::vector<double>>& points) const {
  std::vector<Prediction> out(points.size(), Prediction{0, 1});
  if (!state_ || points.empty()) return out;
  const Matrix cross = kernel(state_->scaled, state_->scale(matrix_of(points)));
  const Vector means = cross.transpose() * state_->weights;
  const Matrix half = state_->factor.matrixL().solve(cross);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const double variance = state_->signal * std::max(1e-9, 1.0 - half.col(at).squaredNorm());
    out[i] = {state_->mean + means[at], std::sqrt(variance)};
  }
  return out;
}

}  // namespace kforge::propose
