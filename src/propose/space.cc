#include "propose/space.h"

#include <algorithm>
#include <cmath>

namespace kforge::propose {
namespace {

std::vector<double> scaled_choices(const std::vector<std::int64_t>& choices) {
  const bool positive = std::all_of(choices.begin(), choices.end(), [](std::int64_t c) { return c > 0; });
  std::vector<double> out;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices.size() == 1) out.push_back(0);
    else if (positive) out.push_back(std::log(static_cast<double>(choices[i]) / static_cast<double>(choices.front())) / std::log(static_cast<double>(choices.back()) / static_cast<double>(choices.front())));
    else out.push_back(static_cast<double>(i) / static_cast<double>(choices.size() - 1));
  }
  return out;
}

}  // namespace

Space::Space(std::vector<Dimension> dimensions, const std::function<bool(const Values&)>& valid) : dimensions_(std::move(dimensions)) {
  double product = 1;
  for (const Dimension& d : dimensions_) {
    product *= static_cast<double>(d.choices.size());
    scaled_.push_back(scaled_choices(d.choices));
  }
  const std::size_t looked_at = static_cast<std::size_t>(std::min(product, static_cast<double>(kMaxPoints)));
  const double stride = looked_at == 0 ? 1 : product / static_cast<double>(looked_at);
  Values values;
  std::vector<std::int64_t*> value_of;   // in `values`, whose nodes stay where they are
  for (const Dimension& d : dimensions_) value_of.push_back(&values[d.name]);
  for (std::size_t n = 0; n < looked_at; ++n) {
    double rest = std::floor(static_cast<double>(n) * stride);
    std::vector<std::uint16_t> choices(dimensions_.size());
    for (std::size_t d = dimensions_.size(); d-- > 0;) {
      const double count = static_cast<double>(dimensions_[d].choices.size());
      choices[d] = static_cast<std::uint16_t>(std::fmod(rest, count));
      rest = std::floor(rest / count);
      *value_of[d] = dimensions_[d].choices[choices[d]];
    }
    if (valid(values)) points_.push_back(std::move(choices));
  }
}

Values Space::values(std::size_t point) const {
  Values out;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) out[dimensions_[d].name] = dimensions_[d].choices[points_[point][d]];
  return out;
}

std::vector<double> Space::features(std::size_t point) const {
  std::vector<double> out(dimensions_.size());
  for (std::size_t d = 0; d < out.size(); ++d) out[d] = scaled_[d][points_[point][d]];
  return out;
}

std::size_t Space::find_choices(const std::vector<std::uint16_t>& choices) const {
  const auto found = std::lower_bound(points_.begin(), points_.end(), choices);
  return found != points_.end() && *found == choices ? static_cast<std::size_t>(found - points_.begin()) : points_.size();
}

std::size_t Space::find(const Values& values) const {
  std::vector<std::uint16_t> choices;
  for (const Dimension& d : dimensions_) {
    const auto value = values.find(d.name);
    if (value == values.end()) return size();
    const auto choice = std::find(d.choices.begin(), d.choices.end(), value->second);
    if (choice == d.choices.end()) return size();
    choices.push_back(static_cast<std::uint16_t>(choice - d.choices.begin()));
  }
  return find_choices(choices);
}

std::vector<std::size_t> Space::neighbours(std::size_t point) const {
  std::vector<std::size_t> out;
  for (std::size_t d = 0; d < dimensions_.size(); ++d)
    for (const int step : {-1, 1}) {
      std::vector<std::uint16_t> choices = points_[point];
      for (int at = choices[d] + step; at >= 0 && at < static_cast<int>(dimensions_[d].choices.size()); at += step) {
        choices[d] = static_cast<std::uint16_t>(at);
        if (const std::size_t found = find_choices(choices); found < size()) {
          out.push_back(found);
          break;
        }
      }
    }
  return out;
}

}  // namespace kforge::propose
