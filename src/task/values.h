// Where a tensor's inputs are drawn from: the `values` key, "normal(0, 1)" and its kin, and the range that it declares.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "task/task.h"

namespace kforge::task {

// `text` parsed and checked against the type: kind known, number and order of arguments right, range inside the type's.
// Arguments are numbers or, for integers and constant, expressions over sizes ("integers(0, rows - 1)").
// Errors: bad_input, where.column counts from 1 inside `text`.
Expected<Values> parse_values(std::string_view text, Dtype dtype);

// What a tensor without the key gets: normal(0, 1) for floats, integers(-8, 8) for signed integers, integers(0, 16) for
// unsigned ones, integers(0, 1) for bool.
Values default_values(Dtype dtype);

// The arguments with expressions evaluated. Errors: bad_input (an expression's, or a range that is empty at these sizes).
Expected<std::vector<double>> arguments_at(const Values& values, const Sizes& sizes);

// The numbers that a kind may yield. Unbounded sides are infinite (normal). Adversarial values stay inside.
struct ValueRange {
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  bool contains(double value) const { return value >= lowest && value <= highest; }
};
ValueRange declared_range(const Values& values, const std::vector<double>& arguments, Dtype dtype);

// Kinds whose values are drawn, so that other values of the range are as good: normal, uniform, integers. The rest (constant,
// ramp, one_hot, permutation) carries meaning and stays as declared.
bool is_drawn(const Values& values);

}  // namespace kforge::task
