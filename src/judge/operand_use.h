// Whether outputs follow the lowest bits of an operand: what a kernel that cuts it to fewer bits cannot show, by whatever operations it cuts.
//
// From pairs of calls whose inputs differ in the lowest bits of one tensor (task/low_bits.h): the change of the reference, d, against the change of the
// output, e. Arithmetic in f32 makes e = d plus the difference of two rounding errors, so that the slope <e, d> / <d, d> is 1 up to its standard error;
// a kernel that reads fewer bits has e = 0 and the slope 0, one that cuts some elements a slope between. It is called blind where the slope is below 0.93 by five standard errors, and d is well above what
// f32 loses by itself; an inexact f32 kernel has a large error of the slope, and is not.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace kforge::judge {

class OperandUse {
 public:
  // One call of a pair: the first when `second` is false. `where`: its size, each of which is judged by itself (a kernel may take another path there).
  // `allowed`: ||out - ref|| that f32 arithmetic may have.
  void see(const std::string& operand, const std::string& output, const std::string& where, bool second, std::vector<double> out, std::vector<double> reference, double allowed);

  struct Blind { std::string operand, output; double slope = 0; };
  // The operand of the smallest slope; nothing where outputs follow all that were tried.
  std::optional<Blind> blind() const;

 private:
  struct Sums {
    std::vector<double> out, reference;      // of the first call of a pair
    double ed = 0, dd = 0, ee = 0, allowed = 0, elements = 0;   // allowed: sum of squares
  };
  std::map<std::tuple<std::string, std::string, std::string>, Sums> sums_;   // by operand, output and size
};

}  // namespace kforge::judge
