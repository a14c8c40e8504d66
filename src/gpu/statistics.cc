#include "gpu/statistics.h"

#include <algorithm>
#include <cmath>

namespace kforge::gpu {
namespace {

constexpr std::size_t kFewest = 10;
constexpr double kNormal95 = 1.96;

double sorted_median(const std::vector<double>& values) {
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return sorted_median(values);
}

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

double spread(const std::vector<double>& values) {
  const double middle = median(values);
  return middle > 0 ? (quantile(values, 0.75) - quantile(values, 0.25)) / middle : 0;
}

double median_interval(std::vector<double> values) {
  if (values.size() < kFewest) return 1;
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const double reach = kNormal95 * std::sqrt(n) / 2;
  const auto low = static_cast<std::size_t>(std::max(std::floor(n / 2 - reach), 1.0)), high = static_cast<std::size_t>(std::min(std::ceil(n / 2 + reach) + 1, n));
  const double middle = sorted_median(values);
  return middle > 0 ? (values[high - 1] - values[low - 1]) / middle : 1;
}

}  // namespace kforge::gpu
