#include "report/axis.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kforge::report {

Axis::Axis(double low, double high, double from, double to, bool logarithmic)
    : low_(low), high_(high), from_(from), to_(to), logarithmic_(logarithmic) {}

double Axis::place(double value) const {
  const double inside = std::clamp(value, low_, high_);
  const double part = logarithmic_ ? std::log(inside / low_) / std::log(high_ / low_) : (inside - low_) / (high_ - low_);
  return from_ + part * (to_ - from_);
}

namespace {

std::vector<double> decades(double low, double high, std::initializer_list<double> within) {
  std::vector<double> out;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10)
    for (const double factor : within)
      if (power * factor >= low * 0.999 && power * factor <= high * 1.001) out.push_back(power * factor);
  return out;
}

}  // namespace

std::vector<double> Axis::ticks(int wanted) const {
  std::vector<double> out;
  if (logarithmic_) {
    out = decades(low_, high_, {1.0});
    if (static_cast<int>(out.size()) * 3 <= wanted) out = decades(low_, high_, {1.0, 2.0, 5.0});
    while (static_cast<int>(out.size()) > wanted) {
      std::vector<double> fewer;
      for (std::size_t i = 0; i < out.size(); i += 2) fewer.push_back(out[i]);
      out = std::move(fewer);
    }
    return out;
  }
  const double raw = (high_ - low_) / wanted, power = std::pow(10, std::floor(std::log10(raw)));
  const double step = raw / power <= 1 ? power : raw / power <= 2 ? 2 * power : raw / power <= 5 ? 5 * power : 10 * power;
  for (double value = std::ceil(low_ / step) * step; value <= high_ * (1 + 1e-9); value += step) out.push_back(value);
  return out;
}

namespace {

struct Scale { double factor; const char* prefix; };
constexpr Scale kScales[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};

Scale scale_of(double value) {
  for (const Scale& scale : kScales)
    if (std::abs(value) >= scale.factor) return scale;
  return {1, ""};
}

}  // namespace

std::string engineering(double value, const char* unit) {
  const Scale scale = scale_of(value);
  const double shown = value / scale.factor;
  return fmt::format("{:.{}f} {}{}", shown, shown >= 100 ? 0 : shown >= 10 ? 1 : 2, scale.prefix, unit);
}

std::string short_number(double value) {
  if (value == 0) return "0";
  const Scale scale = scale_of(value);
  return fmt::format("{:g}{}{}", std::round(value / scale.factor * 1000) / 1000, *scale.prefix ? " " : "", scale.prefix);
}

}  // namespace kforge::report
