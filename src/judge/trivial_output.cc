#include "judge/trivial_output.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "judge/elements.h"

namespace kforge::judge {
namespace {

constexpr double kPart = 0.5;    // of the trivial answer's error
constexpr double kClear = 4;     // times what the agreed arithmetic reaches: below, a trivial answer is as good as right

double square(double value) { return value * value; }

// The sum of squares of `of(i)` over the elements whose reference is finite.
template <class F>
double sum_of_squares(std::span<const double> reference, const F& of) {
  double sum = 0;
  for (std::size_t i = 0; i < reference.size(); ++i)
    if (std::isfinite(reference[i])) sum += square(of(i));
  return sum;
}

double mean_of(std::span<const Draw> draws) {
  double sum = 0, count = 0;
  for (const Draw& draw : draws)
    for (const double value : draw.reference)
      if (std::isfinite(value)) sum += value, ++count;
  return count > 0 ? sum / count : 0;
}

struct Trivial { std::string what; double error = 0; };   // error: sum of squares

}  // namespace

std::string no_better_than_nothing(std::span<const Draw> draws, const task::TensorLayout& layout, task::Dtype dtype, double reached) {
  const double mean = mean_of(draws);
  double error = 0;
  std::vector<Trivial> all = {{"zeros"}, {"the mean of what is right"}};
  for (const Draw& draw : draws) {
    if (draw.out.empty()) continue;
    const Elements out(draw.out, layout, dtype);
    error += sum_of_squares(draw.reference, [&](std::size_t i) { return out[i] - draw.reference[i]; });
    all[0].error += sum_of_squares(draw.reference, [&](std::size_t i) { return draw.reference[i]; });
    all[1].error += sum_of_squares(draw.reference, [&](std::size_t i) { return draw.reference[i] - mean; });
    std::size_t place = 2;
    for (std::size_t k = 0; k < draw.inputs.size(); ++k) {
      const InputView& input = draw.inputs[k];
      if (!input.layout || input.layout->shape != layout.shape) continue;
      if (place == all.size()) all.push_back({fmt::format("input {} as it is", k)});
      const Elements values(input.bytes, *input.layout, input.dtype);
      all[place++].error += sum_of_squares(draw.reference, [&](std::size_t i) { return values[i] - draw.reference[i]; });
    }
  }
  for (const Trivial& trivial : all)
    if (std::sqrt(trivial.error) > kClear * reached && std::sqrt(error) > kPart * std::sqrt(trivial.error))
      return fmt::format("the output is no better than {}: ||out - ref|| is {:.3g}, and {:.3g} for that; the task's own tolerance admits both", trivial.what, std::sqrt(error), std::sqrt(trivial.error));
  return {};
}

}  // namespace kforge::judge
