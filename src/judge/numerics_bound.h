// How far an element of an output may be from the reference: the bound of the contract `numerics` (contracts.md), which grows with the root mean
// square of the reference along the last axis, or over all of it where that axis is short.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "judge/element_sums.h"
#include "judge/numerics.h"
#include "task/dtype_convert.h"

namespace kforge::judge {

inline constexpr std::int64_t kPool = 32;   // elements that a root mean square needs (contracts.md)

struct Norms {
  double sum_squares = 0;
  std::uint64_t count = 0;
  double root_mean_square() const { return count == 0 ? 0 : std::sqrt(sum_squares / static_cast<double>(count)); }
};

// Of the finite values.
Norms norms(std::span<const double> values);

// The contract's bound of each element of one draw.
class Bound {
 public:
  // `most`: the output type's largest finite number.
  Bound(std::span<const double> reference, const task::TensorLayout& layout, const NumericsOptions& options, double pooled_scale, double most)
      : c_(options.c), unit_out_(task::unit_roundoff(options.dtype)) {
    const double root_k = std::sqrt(std::max(options.reduction_length, 1.0));
    per_scale_ = 4 * task::unit_roundoff(options.accumulate) * root_k;
    floor_ = task::is_float(options.dtype) ? c_ * root_k * task::smallest_subnormal(options.dtype) : 0;
    const auto row = layout.shape.empty() ? std::int64_t{1} : layout.shape.back();
    if (row < kPool) {
      scales_ = {pooled_scale};
      return;
    }
    row_ = static_cast<std::size_t>(row);
    for (std::size_t start = 0; start < reference.size(); start += row_) {
      const ReferenceSums sums = sum_references(reference.subspan(start, row_), most);
      scales_.push_back((sums.plain ? Norms{sums.squares, row_} : norms(reference.subspan(start, row_))).root_mean_square());
      rows_.push_back(sums);
    }
  }
  double operator()(std::size_t i, double reference) const {
    find_row(i);
    return c_ * (unit_out_ * std::abs(reference) + per_scale_ * scales_[at_]) + floor_;
  }
  double floor() const { return floor_; }
  // The same for all elements from i to the end of its row.
  ElementLimits limits(std::size_t i) const {
    find_row(i);
    return {c_, unit_out_, per_scale_ * scales_[at_], floor_, 0, 0, 0};
  }
  std::size_t row_end(std::size_t i, std::size_t count) const { return row_ == 0 ? count : std::min(count, (i / row_ + 1) * row_); }
  std::size_t row() const { return row_; }                            // elements of one; 0: one scale for all
  std::span<const ReferenceSums> rows() const { return rows_; }
  // Of the accumulate type alone, before the result is rounded.
  double of_arithmetic(std::size_t i) const { return per_scale_ * scales_[row_ == 0 ? 0 : i / row_]; }

 private:
  void find_row(std::size_t i) const {
    if (i - row_start_ < row_) return;   // elements come in order: most are in the row of the last one
    at_ = row_ == 0 ? 0 : i / row_;
    row_start_ = at_ * row_;
  }
  double c_, unit_out_, per_scale_ = 0, floor_ = 0;
  std::size_t row_ = 0;          // 0: one scale for all
  mutable std::size_t at_ = 0, row_start_ = 0;
  std::vector<double> scales_;
  std::vector<ReferenceSums> rows_;
};

}  // namespace kforge::judge
