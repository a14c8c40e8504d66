// Logarithmic and linear axes of the plots: from values to places, with ticks at round values.
#pragma once

#include <string>
#include <vector>

namespace kforge::report {

struct Tick { double value; std::string label; };

class Axis {
 public:
  // REQUIRES: low < high, and 0 < low for a logarithmic axis. `from` and `to` are places: to < from for an upward axis.
  Axis(double low, double high, double from, double to, bool logarithmic);
  double place(double value) const;
  double from() const { return from_; }
  double to() const { return to_; }
  double low() const { return low_; }
  double high() const { return high_; }
  // Powers of ten (with 2 and 5 where they are few) or round steps; at most about `wanted`.
  std::vector<double> ticks(int wanted = 6) const;

 private:
  double low_, high_, from_, to_;
  bool logarithmic_;
};

std::string engineering(double value, const char* unit);   // "67.0 TFLOP/s", "4.80 TB/s"
std::string short_number(double value);                     // "0.5", "10", "1 k", "2.5 M"

}  // namespace kforge::report
