#include "judge/numerics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "judge/element_sums.h"
#include "judge/elements.h"
#include "judge/mismatch_pattern.h"
#include "judge/numerics_bound.h"
#include "task/dtype_convert.h"
#include "task/expression.h"

namespace kforge::judge {
namespace {

using task::Dtype;
using task::TensorLayout;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A reference is decided where its move is at most an eighth of its bound. What its own size moves with the inputs (twice the nudge: of a product) is not counted, and long sums
// carry errors of their own.
constexpr double kDecides = 8, kOwnMoves = 4, kLongSums = 16;
constexpr double kNearly = 1 - 1e-9;   // more than products and quotients round
constexpr std::size_t kStretch = 256;  // elements that are summed at once, where nothing stands out among them

double scale_over(std::span<const Draw> draws) {
  Norms all;
  for (const auto& draw : draws) {
    const auto one = norms(draw.reference);
    all.sum_squares += one.sum_squares;
    all.count += one.count;
  }
  return all.root_mean_square();
}

// ---- degenerate references and outputs

// What a sequence of values is, judged pairwise: `same(i, a, b)` says whether a and b are the same value at element i.
struct Shape {
  bool zero = true, constant = true;
  std::vector<bool> copies;   // per input
  bool started = false;
  double first = 0, first_bound = 0;
};

bool equal_within(double a, double b, double bound) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= bound;
}

// Extends `shape` by one draw's values; `bound(i, value)` is 0 for outputs, which are what they are.
template <class Values, class BoundOf>
void extend(Shape& shape, const Values& values, std::size_t count, const Draw& draw, Dtype dtype, const BoundOf& bound) {
  shape.copies.resize(draw.inputs.size(), true);
  for (std::size_t i = 0; i < count && (shape.zero || shape.constant); ++i) {
    const double value = values[i], allowed = bound(i, value);
    if (!shape.started) {
      shape.started = true;
      shape.first = value;
      shape.first_bound = allowed;
    }
    shape.zero = shape.zero && equal_within(value, 0, allowed);
    shape.constant = shape.constant && equal_within(value, shape.first, allowed + shape.first_bound);
  }
  for (std::size_t k = 0; k < draw.inputs.size(); ++k) {
    const auto& input = draw.inputs[k];
    if (!shape.copies[k] || input.layout == nullptr || static_cast<std::size_t>(input.layout->elements) != count) {
      shape.copies[k] = false;
      continue;
    }
    const Elements elements(input.bytes, *input.layout, input.dtype);
    const bool rounds = input.dtype != dtype;
    for (std::size_t i = 0; i < count && shape.copies[k]; ++i)
      shape.copies[k] = equal_within(values[i], rounds ? task::round_to(dtype, elements[i]) : elements[i], bound(i, values[i]));
  }
}

Degeneracy degeneracy_of(const Shape& shape) {
  if (shape.zero) return {Degenerate::zero, 0};
  if (shape.constant) return {Degenerate::constant, 0};
  const auto copy = std::find(shape.copies.begin(), shape.copies.end(), true);
  if (copy != shape.copies.end()) return {Degenerate::copy, static_cast<std::size_t>(copy - shape.copies.begin())};
  return {};
}

// ---- the figures

template <class F>
struct Callable {
  F f;
  double operator[](std::size_t i) const { return f(i); }
};
template <class F>
Callable(F) -> Callable<F>;

class Comparison {
 public:
  Comparison(std::span<const Draw> draws, const TensorLayout& layout, const NumericsOptions& options)
      : draws_(draws), layout_(layout), options_(options), exact_types_(!task::is_float(options.dtype)), most_(task::max_finite(options.dtype)),
        pooled_(layout.elements < kPool), rounds_(task::is_float(options.dtype) && task::unit_roundoff(options.dtype) > 16 * task::unit_roundoff(options.accumulate)),
        scale_(pooled_ ? scale_over(draws) : 0) {
    out_.own_bounds = options.abs || options.rel;
    out_.pooled_enough = layout.elements * static_cast<std::int64_t>(draws.size()) >= kPool;
  }

  TensorErrors run() {
    for (std::size_t d = 0; d < draws_.size(); ++d) one_draw(d);
    if (pooled_) {
      check_norm(pool_);
      settle(degeneracy_of(reference_shape_), degeneracy_of(output_shape_));
    }
    finish();
    return std::move(out_);
  }

 private:
  struct NormSums {
    double squares_error = 0, squares_reference = 0;
    std::uint64_t errors = 0, references = 0;
    double floor = 0;
  };

  bool exact_types() const { return exact_types_; }
  // Whether the reference is beyond the output's type: what is within its largest finite number needs no rounding to tell.
  bool rounds_to_infinity(double value) const { return !(std::abs(value) <= most_) && std::isinf(task::round_to(options_.dtype, value)); }

  void one_draw(std::size_t d) {
    const auto& draw = draws_[d];
    const bool by_row = !layout_.shape.empty() && layout_.shape.back() >= kPool;
    const Bound bound(draw.reference, layout_, options_, pooled_ || by_row ? scale_ : norms(draw.reference).root_mean_square(), most_);
    NormSums sums;
    Shape reference_shape, output_shape;
    auto& mine_reference = pooled_ ? reference_shape_ : reference_shape;
    auto& mine_output = pooled_ ? output_shape_ : output_shape;
    note_references(draw, bound, pooled_ ? pool_ : sums);
    (pooled_ ? pool_ : sums).floor = bound.floor();
    // A draw without an output widens scales and norms; what it is proves nothing about outputs.
    if (draw.out.empty()) return;
    extend(mine_reference, Callable{[&](std::size_t i) { return reference(draw, i); }}, count(), draw, options_.dtype,
           [&](std::size_t i, double value) { return exact_types() ? 0.0 : bound(i, value); });
    const Elements out(draw.out, layout_, options_.dtype);
    extend(mine_output, out, count(), draw, options_.dtype, [](std::size_t, double) { return 0.0; });
    elements(d, out, bound, pooled_ ? pool_ : sums);
    out_.elements += count();
    if (pooled_) return;
    check_norm(sums);
    settle(degeneracy_of(reference_shape), degeneracy_of(output_shape));
  }

  std::size_t count() const { return static_cast<std::size_t>(layout_.elements); }

  static double reference(const Draw& draw, std::size_t i) {
    return draw.exact.empty() ? draw.reference[i] : static_cast<double>(draw.exact[i]);
  }

  void note_references(const Draw& draw, const Bound& bound, NormSums& sums) {
    const std::size_t step = bound.row() > 0 ? bound.row() : kStretch;
    for (std::size_t start = 0; start < count(); start += step) {
      const std::size_t end = std::min(start + step, count());
      if (draw.exact.empty()) {
        // Rows were summed for their scales.
        const ReferenceSums stretch = bound.row() > 0 ? bound.rows()[start / step] : sum_references(draw.reference.subspan(start, end - start), most_);
        if (stretch.plain) {
          sums.squares_reference += stretch.squares;
          sums.references += end - start;
          lowest_ = std::min(lowest_, stretch.lowest);
          highest_ = std::max(highest_, stretch.highest);
          continue;
        }
      }
      for (std::size_t i = start; i < end; ++i) note_reference(reference(draw, i), sums);
    }
  }

  void note_reference(double value, NormSums& sums) {
    if (std::isnan(value)) {
      out_.reference_has_nan = out_.reference_has_nan || !options_.allow_nan;
      return;
    }
    if (rounds_to_infinity(value)) {
      out_.reference_overflows = out_.reference_overflows || std::isfinite(value);
      return;
    }
    sums.squares_reference += value * value;
    ++sums.references;
    lowest_ = std::min(lowest_, value);
    highest_ = std::max(highest_, value);
  }

  double allowed(std::size_t i, double reference, const Bound& bound) const {
    if (exact_types()) return options_.integer_difference;
    if (out_.own_bounds) return options_.abs.value_or(0) + options_.rel.value_or(0) * std::abs(reference);
    return bound(i, reference);
  }

  bool decides(double move, double reference, double bound) const {
    const double longer = std::sqrt(std::max(options_.reduction_length / kLongSums, 1.0));
    return kDecides * longer * std::max(move - kOwnMoves * task::unit_roundoff(options_.accumulate) * std::abs(reference), 0.0) <= bound;
  }

  void elements(std::size_t d, const Elements& out, const Bound& bound, NormSums& sums) {
    for (std::size_t start = 0; start < count();) {
      const std::size_t end = std::min(start + kStretch, bound.row_end(start, count()));
      if (!stretch(d, start, end, out, bound, sums))
        for (std::size_t i = start; i < end; ++i) element(d, i, out, bound, sums);
      start = end;
    }
  }

  // Adds elements of one row among which nothing stands out; else false, and nothing is added.
  bool stretch(std::size_t d, std::size_t start, std::size_t end, const Elements& out, const Bound& bound, NormSums& sums) {
    const std::byte* floats = exact_types() || rounds_ ? nullptr : out.floats_from(start);
    if (!floats || !draws_[d].exact.empty() || !draws_[d].moves.empty()) return false;
    ElementLimits limits = out_.own_bounds ? ElementLimits{1, options_.rel.value_or(0), options_.abs.value_or(0), 0, 0, 0, 0} : bound.limits(start);
    limits.most = most_;
    limits.known_relative = kNearly * out_.max_rel;
    limits.known_excess = kNearly * worst_excess_;
    const ElementSums s = sum_elements(floats, draws_[d].reference.subspan(start, end - start), limits);
    if (!s.plain) return false;
    sums.squares_error += s.squares_error;
    sums.errors += end - start;
    finite_ += end - start;
    sum_error_ += s.error;
    squares_error_ += s.squares_error;
    squares_out_ += s.squares_out;
    squares_reference_ += s.squares_reference;
    dot_ += s.dot;
    out_.max_abs = std::max(out_.max_abs, s.largest_error);
    return true;
  }

  void element(std::size_t d, std::size_t i, const Elements& out, const Bound& bound, NormSums& sums) {
    const double ref = reference(draws_[d], i);
    const bool undecided = !draws_[d].moves.empty() && !decides(draws_[d].moves[i], ref, allowed(i, ref, bound));
    if (undecided && (exact_types() || std::isfinite(out[i]))) {
      ++out_.undecided;
      return;
    }
    if (exact_types() && !draws_[d].exact.empty()) {
      integer_element(d, i, out.integer(i), draws_[d].exact[i], sums);
      return;
    }
    const double value = out[i];
    const double rounded = std::abs(ref) <= most_ ? ref : task::round_to(options_.dtype, ref);
    if (!std::isfinite(value) || !std::isfinite(rounded)) {
      // Infinities agree with their sign; a reference beyond the type's range is an infinity.
      const bool agrees = (std::isnan(value) && std::isnan(ref)) || (std::isinf(value) && value == rounded);
      if (!agrees) disagree(d, i, value, ref);
      return;
    }
    if (rounds_) note_rounding(value, ref, bound.of_arithmetic(i));
    record(d, i, value, ref, std::abs(value - ref), allowed(i, ref, bound), sums);
  }

  // A value is misrounded where the error before rounding reaches the middle between two neighbours: as often as twice that error lies in their distance.
  void note_rounding(double value, double ref, double error) {
    const double distance = task::unit_roundoff(options_.dtype) * std::abs(ref);
    ++out_.rounded;
    out_.misrounded += value != task::round_to(options_.dtype, ref);
    out_.expected_misrounded += distance > 0 ? std::min(1.0, 2 * error / distance) : 1.0;
  }

  void integer_element(std::size_t d, std::size_t i, std::int64_t value, std::int64_t ref, NormSums& sums) {
    const auto difference = value > ref ? static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(ref)
                                        : static_cast<std::uint64_t>(ref) - static_cast<std::uint64_t>(value);
    record(d, i, static_cast<double>(value), static_cast<double>(ref), static_cast<double>(difference), options_.integer_difference, sums);
  }

  void record(std::size_t d, std::size_t i, double value, double ref, double error, double bound, NormSums& sums) {
    sums.squares_error += error * error;
    ++sums.errors;
    ++finite_;
    sum_error_ += error;
    squares_error_ += error * error;
    squares_out_ += value * value;
    squares_reference_ += ref * ref;
    dot_ += value * ref;
    out_.max_abs = std::max(out_.max_abs, error);
    // A quotient is computed where it may be the largest: divisions would be most of the work.
    if (ref != 0 && !(error < kNearly * out_.max_rel * std::abs(ref))) out_.max_rel = std::max(out_.max_rel, error / std::abs(ref));
    if (!(error <= bound)) mismatch(d, i);
    if (error == 0 || error < kNearly * worst_excess_ * bound) return;
    const double excess = bound > 0 ? error / bound : kInfinity;
    if (excess > worst_excess_ || (excess == worst_excess_ && excess > 0 && error > worst_error_)) worst(d, i, value, ref, bound, excess, error);
  }

  void mismatch(std::size_t d, std::size_t i) {
    ++out_.mismatched;
    if (out_.mismatches.empty()) mismatched_draw_ = d;
    if (d == mismatched_draw_ && out_.mismatches.size() < kMismatchesKept) out_.mismatches.push_back(static_cast<std::int64_t>(i));
  }

  void disagree(std::size_t d, std::size_t i, double value, double ref) {
    mismatch(d, i);
    if (out_.nonfinite_disagreements++ == 0) worst(d, i, value, ref, 0, kInfinity, kInfinity);
  }

  void worst(std::size_t d, std::size_t i, double value, double ref, double bound, double excess, double error) {
    worst_excess_ = excess;
    worst_error_ = error;
    out_.worst_draw = static_cast<std::uint32_t>(d);
    out_.worst_index = static_cast<std::int64_t>(i);
    out_.worst_out = value;
    out_.worst_reference = ref;
    out_.worst_bound = bound;
  }

  // Draws without an output widen the norm of the reference only, so both sides are compared per element.
  void check_norm(const NormSums& sums) {
    if (exact_types() || out_.own_bounds || sums.errors == 0 || sums.references == 0) return;
    const double n = static_cast<double>(sums.errors);
    const double root_k = std::sqrt(std::max(options_.reduction_length, 1.0));
    const double reference = std::sqrt(sums.squares_reference * (n / static_cast<double>(sums.references)));
    const double relative = 4 * (task::unit_roundoff(options_.accumulate) * root_k + task::unit_roundoff(options_.dtype));
    const double bound = relative * reference + sums.floor * std::sqrt(n);
    const double error = std::sqrt(sums.squares_error);
    const bool failed = !(error <= bound);
    const bool worse = out_.norm_bound == 0 || error * out_.norm_bound > out_.norm_error * bound;
    out_.norm_failed = out_.norm_failed || failed;
    if (!worse) return;
    out_.norm_error = error;
    out_.norm_bound = bound;
  }

  // The first draw that proves something speaks for the case; an output that is degenerate where its reference is not stays noted.
  void settle(const Degeneracy& reference, const Degeneracy& output) {
    if (!settled_ || out_.reference.kind != Degenerate::no) out_.reference = reference;
    settled_ = true;
    if (options_.degenerate_is_wrong && reference.kind == Degenerate::no && output.kind != Degenerate::no) out_.output = output;
  }

  void finish() {
    const double n = static_cast<double>(std::max<std::uint64_t>(finite_, 1));
    out_.mae = sum_error_ / n;
    out_.rmse = std::sqrt(squares_error_ / n);
    out_.rel_l2 = squares_error_ == 0 ? 0 : squares_reference_ > 0 ? std::sqrt(squares_error_ / squares_reference_) : kInfinity;
    const double range = highest_ >= lowest_ ? highest_ - lowest_ : 0;
    out_.psnr_db = out_.rmse == 0 ? kInfinity : 20 * std::log10(range / out_.rmse);
    const double lengths = std::sqrt(squares_out_) * std::sqrt(squares_reference_);
    out_.cosine = lengths > 0 ? std::clamp(dot_ / lengths, -1.0, 1.0) : squares_out_ == squares_reference_ ? 1 : 0;
    out_.why = complaint();
    out_.passed = out_.why.empty();
  }

  std::string complaint() const {
    if (out_.elements == 0 && layout_.elements > 0) return "no output was compared";
    if (out_.nonfinite_disagreements > 0)
      return fmt::format("{} of {} elements are NaN or infinite where the reference is not, or the reverse; first at {}: {} in place of {}",
                         out_.nonfinite_disagreements, out_.elements, out_.worst_index, out_.worst_out, out_.worst_reference);
    if (out_.output.kind == Degenerate::copy) return fmt::format("the output is a copy of input {}, the reference is not", out_.output.input);
    if (out_.output.kind != Degenerate::no) return fmt::format("the output is {}, the reference is not", name(out_.output.kind));
    if (out_.mismatched > 0)
      return fmt::format("{} of {} elements differ by more than allowed; worst at {}: {} in place of {}, allowed {:.3g}", out_.mismatched,
                         out_.elements, out_.worst_index, out_.worst_out, out_.worst_reference, out_.worst_bound);
    if (out_.norm_failed)
      return fmt::format("the errors together are too large: ||out - ref|| is {:.3g}, allowed {:.3g}", out_.norm_error, out_.norm_bound);
    return "";
  }

  std::span<const Draw> draws_;
  const TensorLayout& layout_;
  const NumericsOptions& options_;
  const bool exact_types_;
  const double most_;           // the output type's largest finite number
  bool pooled_, rounds_;
  double scale_;
  TensorErrors out_;
  NormSums pool_;
  Shape reference_shape_, output_shape_;
  bool settled_ = false;
  std::uint64_t finite_ = 0;
  double sum_error_ = 0, squares_error_ = 0, squares_out_ = 0, squares_reference_ = 0, dot_ = 0;
  double lowest_ = kInfinity, highest_ = -kInfinity;
  double worst_excess_ = 0, worst_error_ = 0;
  std::size_t mismatched_draw_ = 0;
};

}  // namespace

std::string_view name(Degenerate kind) {
  static constexpr std::array<std::string_view, 4> kNames{"no", "all zero", "constant", "a copy of an input"};
  return kNames[static_cast<std::size_t>(kind)];
}

TensorErrors compare(std::span<const Draw> draws, const TensorLayout& layout, const NumericsOptions& options) {
  return Comparison(draws, layout, options).run();
}

bool reference_overflows(std::span<const double> reference, Dtype dtype) {
  const double most = task::max_finite(dtype);
  return std::any_of(reference.begin(), reference.end(), [&](double value) {
    return !std::isfinite(value) || std::abs(task::is_float(dtype) ? task::round_to(dtype, value) : value) > most;
  });
}

Degeneracy degeneracy(const Draw& draw, const TensorLayout& layout, const NumericsOptions& options) {
  auto alone = draw;
  alone.out = {};
  const Bound bound(draw.reference, layout, options, norms(draw.reference).root_mean_square(), task::max_finite(options.dtype));
  Shape shape;
  extend(shape, draw.reference, static_cast<std::size_t>(layout.elements), alone, options.dtype, [&](std::size_t i, double value) {
    return task::is_float(options.dtype) ? bound(i, value) : 0.0;
  });
  return degeneracy_of(shape);
}

Expected<double> reduction_length(const task::Task& task, const task::Tensor& output, const task::Sizes& sizes) {
  if (task.numerics.reduction) {
    auto value = task::evaluate(*task.numerics.reduction, sizes);
    if (!value) return Unexpected(value.error());
    return static_cast<double>(std::max<std::int64_t>(*value, 1));
  }
  std::set<std::string> present;       // names, and constants as text
  const auto words = [](const std::string& extent) {
    const auto parsed = task::Expression::parse(extent);
    if (!parsed || parsed->names().empty()) return std::vector<std::string>{extent};
    return parsed->names();
  };
  for (const auto& extent : output.shape)
    for (const auto& word : words(extent)) present.insert(word);
  double product = 1;
  for (const auto& tensor : task.tensors) {
    if (tensor.role == task::Role::out) continue;
    for (const auto& extent : tensor.shape) {
      const auto found = words(extent);
      // A name that was counted, or that the output has, is not counted again.
      if (std::any_of(found.begin(), found.end(), [&](const std::string& word) { return present.contains(word); })) continue;
      present.insert(found.begin(), found.end());
      auto value = task::evaluate(extent, sizes);
      if (!value) return Unexpected(value.error());
      product *= static_cast<double>(std::max<std::int64_t>(*value, 1));
    }
  }
  return product;
}

Expected<NumericsOptions> numerics_options(const task::Task& task, const task::Tensor& output, const task::Sizes& sizes) {
  auto length = reduction_length(task, output, sizes);
  if (!length) return Unexpected(length.error());
  NumericsOptions options;
  options.dtype = output.dtype;
  options.accumulate = task::accumulate_type(task, output);
  options.reduction_length = *length;
  options.abs = task.numerics.abs;
  options.rel = task.numerics.rel;
  options.integer_difference = task.numerics.integer_difference.value_or(0);
  options.allow_nan = task.numerics.allow_nan;
  return options;
}

}  // namespace kforge::judge
