#include "propose/search.h"

#include <algorithm>
#include <cmath>

#include "task/random.h"

namespace kforge::propose {
namespace {

constexpr std::size_t kPool = 1500;        // points that the surrogate ranks at once
constexpr std::size_t kBeside = 3;         // best points whose neighbours are looked at
constexpr std::size_t kAskedForEffort = 4;
constexpr double kLeastEffort = 0.05;      // even a point that costs nothing to know must promise something

double squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return sum;
}

// Nearness for the kernel means of validity and cost.
double nearness(const std::vector<double>& a, const std::vector<double>& b) { return std::exp(-squared_distance(a, b) / (2 * 0.2 * 0.2)); }

// Of a normal value below `best`, in expectation.
double expected_improvement(const Prediction& p, double best) {
  const double z = (best - p.mean) / p.deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI);
  const double below = 0.5 * std::erfc(-z / std::sqrt(2.0));
  return p.deviation * (z * below + density);
}

}  // namespace

Search::Search(const Space& space, SearchOptions options) : space_(space), options_(std::move(options)) {
  if (options_.prior.size() != space.size()) options_.prior.clear();
}

void Search::tell(std::size_t point, double value, double cost) {
  if (!(value > 0) || !std::isfinite(value)) return tell_invalid(point, cost);
  pending_.erase(point);
  values_[point] = std::log(value);
  if (cost > 0) costs_[point] = cost;
  if (!best_ || value < best_value_) best_ = point, best_value_ = value;
}
void Search::tell_invalid(std::size_t point, double cost) {
  pending_.erase(point);
  invalid_.insert(point);
  if (cost > 0) costs_[point] = cost;
}
void Search::tell_pending(std::size_t point) { pending_.insert(point); }

std::optional<std::size_t> Search::best() const { return best_; }

std::uint64_t Search::draw(std::uint64_t bound) { return task::CounterRandom(options_.seed).below(draws_++, bound); }

std::vector<std::size_t> Search::open_points() const {
  std::vector<std::size_t> open;
  for (std::size_t p = 0; p < space_.size(); ++p)
    if (!values_.contains(p) && !invalid_.contains(p) && !pending_.contains(p)) open.push_back(p);
  return open;
}

std::vector<std::size_t> Search::ask(std::size_t n) {
  std::vector<std::size_t> out;
  while (out.size() < n) {
    const std::vector<std::size_t> open = open_points();
    if (open.empty()) break;
    const std::size_t told = known() + pending_.size();
    const std::size_t spread_first = options_.prior.empty() ? std::min<std::size_t>(2 + space_.dimensions().size(), std::max<std::size_t>(3, space_.size() / 60)) : 1;
    std::size_t point = 0;
    if (told == 0 && std::binary_search(open.begin(), open.end(), options_.first)) point = options_.first;
    else if (const auto next = std::find_if(options_.then.begin(), options_.then.end(), [&](std::size_t p) { return std::binary_search(open.begin(), open.end(), p); }); next != options_.then.end()) point = *next;
    else if (told < spread_first || values_.empty()) point = options_.prior.empty() ? spread(open) : promising(open);
    else point = promising(open);
    pending_.insert(point);
    out.push_back(point);
  }
  for (const std::size_t point : out) pending_.erase(point);   // the caller says what is pending
  return out;
}

// Of some random points the one farthest from what is known.
std::size_t Search::spread(const std::vector<std::size_t>& open) {
  std::size_t best = open[0];
  double farthest = -1;
  for (int i = 0; i < 64; ++i) {
    const std::size_t point = open[draw(open.size())];
    const auto own = space_.features(point);
    double nearest = INFINITY;
    const auto look = [&](std::size_t other) { nearest = std::min(nearest, squared_distance(own, space_.features(other))); };
    for (const auto& [known, value] : values_) look(known);
    for (const std::size_t known : invalid_) look(known);
    for (const std::size_t known : pending_) look(known);
    if (nearest > farthest) farthest = nearest, best = point;
  }
  return best;
}

// log values that the prior expects, before scaling.
std::vector<double> Search::prior_of(const std::vector<std::size_t>& points) const {
  std::vector<double> out(points.size(), 0.0);
  if (options_.prior.empty()) return out;
  for (std::size_t i = 0; i < points.size(); ++i) out[i] = std::log(std::max(options_.prior[points[i]], 1e-300));
  return out;
}

void Search::learn() {
  if (learned_at_ == values_.size()) return;
  learned_at_ = values_.size();
  const bool tune = values_.size() < 12 || values_.size() >= tuned_at_ + std::max<std::size_t>(3, tuned_at_ / 8);
  if (tune) tuned_at_ = values_.size();
  std::vector<std::size_t> points;
  std::vector<std::vector<double>> features;
  std::vector<double> logs;
  for (const auto& [point, value] : values_) {
    points.push_back(point);
    features.push_back(space_.features(point));
    logs.push_back(value);
  }
  // Least squares of the values over the prior, held towards slope 1.
  const auto prior = prior_of(points);
  const double n = static_cast<double>(points.size());
  double mean_x = 0, mean_y = 0, xx = 0.05, xy = 0.05;
  for (std::size_t i = 0; i < points.size(); ++i) mean_x += prior[i] / n, mean_y += logs[i] / n;
  for (std::size_t i = 0; i < points.size(); ++i) xx += (prior[i] - mean_x) * (prior[i] - mean_x), xy += (prior[i] - mean_x) * (logs[i] - mean_y);
  prior_slope_ = options_.prior.empty() ? 0 : std::clamp(xy / xx, 0.0, 2.0);
  prior_offset_ = mean_y - prior_slope_ * mean_x;
  for (std::size_t i = 0; i < points.size(); ++i) logs[i] -= prior_offset_ + prior_slope_ * prior[i];
  surrogate_.fit(features, logs, tune, options_.seed);
}

std::vector<Prediction> Search::predictions_of(const std::vector<std::size_t>& points) const {
  std::vector<std::vector<double>> features;
  for (const std::size_t point : points) features.push_back(space_.features(point));
  auto out = surrogate_.predict(features);
  const auto prior = prior_of(points);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].mean += prior_offset_ + prior_slope_ * prior[i];
  return out;
}

std::optional<double> Search::expected(std::size_t point) {
  if (point >= space_.size()) return std::nullopt;
  if (values_.empty()) return options_.prior.empty() ? std::nullopt : std::optional(options_.prior[point]);
  learn();
  return std::exp(predictions_of({point})[0].mean);
}

double Search::chance_of_validity(const std::vector<double>& features) const {
  double valid = 1, all = 1;
  for (const auto& [point, value] : values_) {
    const double near = nearness(features, space_.features(point));
    valid += near, all += near;
  }
  for (const std::size_t point : invalid_) all += nearness(features, space_.features(point));
  return invalid_.empty() ? 1 : valid / all;
}

// Relative to the mean of all costs.
double Search::expected_cost(const std::vector<double>& features) const {
  if (costs_.empty()) return 1;
  double mean = 0, sum = 0, weight = 0;
  for (const auto& [point, cost] : costs_) mean += cost / static_cast<double>(costs_.size());
  if (!(mean > 0)) return 1;
  for (const auto& [point, cost] : costs_) {
    const double near = nearness(features, space_.features(point));
    sum += near * cost, weight += near;
  }
  return std::max(0.1, (sum + mean) / (weight + 1) / mean);
}

std::vector<std::size_t> Search::pool() {
  const std::vector<std::size_t> open = open_points();
  std::set<std::size_t> chosen;
  std::vector<std::pair<double, std::size_t>> ranked;
  for (const auto& [point, value] : values_) ranked.emplace_back(value, point);
  std::sort(ranked.begin(), ranked.end());
  for (std::size_t i = 0; i < std::min(ranked.size(), kBeside); ++i)
    for (const std::size_t near : space_.neighbours(ranked[i].second))
      if (std::binary_search(open.begin(), open.end(), near)) chosen.insert(near);
  const bool beside_only = ++steps_ % 2 == 0 && !chosen.empty();
  if (beside_only) return {chosen.begin(), chosen.end()};
  if (open.size() <= kPool) return open;
  while (chosen.size() < kPool) chosen.insert(open[draw(open.size())]);
  return {chosen.begin(), chosen.end()};
}

std::size_t Search::promising(const std::vector<std::size_t>& open) {
  if (values_.empty() && !options_.prior.empty())
    return *std::min_element(open.begin(), open.end(), [&](std::size_t a, std::size_t b) { return options_.prior[a] < options_.prior[b]; });
  learn();
  const std::vector<std::size_t> candidates = pool();
  const auto predictions = predictions_of(candidates);
  const double best = best_ ? values_.at(*best_) : 0;
  std::vector<std::pair<double, std::size_t>> ranked;   // score, point
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto features = space_.features(candidates[i]);
    double score = expected_improvement(predictions[i], best) * chance_of_validity(features) / expected_cost(features);
    // Points that somebody is at: what lies beside them can wait.
    for (const std::size_t busy : pending_) score *= 1 - 0.9 * nearness(features, space_.features(busy));
    ranked.emplace_back(score, candidates[i]);
  }
  const auto better = [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; };
  const std::size_t few = std::min(options_.effort ? kAskedForEffort : 1, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(few), ranked.end(), better);
  ranked.resize(few);
  if (options_.effort)
    for (auto& [score, point] : ranked) score /= std::max(options_.effort(point), kLeastEffort);
  return std::min_element(ranked.begin(), ranked.end(), better)->second;
}

}  // namespace kforge::propose
