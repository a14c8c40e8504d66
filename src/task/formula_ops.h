// The operations of formulas: one row each, with its spelling, its rule of kinds, how C++ and CUDA say it and how it is evaluated.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kforge::task::formula {

enum class Op : std::uint8_t {
  // Leaves.
  constant, tensor, scalar, size, arange,
  // Element-wise, one operand.
  negate, logical_not, abs, exp, exp2, expm1, log, log2, log10, log1p, sqrt, rsqrt, reciprocal, tanh, sinh, cosh, sigmoid, erf, erfc, sin, cos, tan,
  asin, acos, atan, floor, ceil, round, trunc, sign, to_integer, to_real, is_nan,
  // Element-wise, two operands.
  add, subtract, multiply, divide, power, minimum, maximum, atan2, hypot, fmod,
  less, less_equal, greater, greater_equal, equal, not_equal, logical_and, logical_or,
  // Element-wise, three operands.
  where,
  // Along axes.
  sum, product, reduce_minimum, reduce_maximum, any, all, argmin, argmax, cumulative_sum,
  // Across axes.
  matmul, permute, align,
  count_
};
inline constexpr std::size_t kOpCount = static_cast<std::size_t>(Op::count_);

enum class Group : std::uint8_t { leaf, unary, binary, ternary, reduction, scan, matmul, layout };

enum class KindRule : std::uint8_t {
  own,          // leaves, casts: the parser decides
  arithmetic,   // integer of integers and truth values, else real
  real,         // always real
  compare,      // numbers to a truth value
  logic,        // truth values to a truth value
  select,       // where(truth, a, b): arithmetic of a and b
  same,         // the operand's; truth values count as integers
  index,        // an integer
};

struct OpRow {
  Op op;
  std::string_view name;           // in formulas, where it is a function or a reduction; else for messages
  Group group;
  KindRule kinds;
  // {0}, {1}, {2}: the operands, more than once perhaps. C++ in double, CUDA in float and in double.
  std::string_view cpp, cuda_float, cuda_double;
  double (*evaluate)(double a, double b, double c);   // nullptr where it is no element-wise operation
  double cost;                     // operations (a special function is one)
  std::string_view integer = {};   // on integers, in both languages; empty: as `cpp`
};

std::span<const OpRow, kOpCount> op_table();
const OpRow& row(Op op);
inline Group group(Op op) { return row(op).group; }
inline bool is_element_wise(Op op) { return group(op) <= Group::ternary; }

}  // namespace kforge::task::formula
