// Whether an output is right: contracts.md, "Numerics", as pure functions of bytes and reference values.
//
// The bound of an element is c (u_out |ref| + 4 u sqrt(K) s) + c sqrt(K) (smallest subnormal of the output type), c = 4, where
// u_out is half an ulp of the output type, u that of the accumulate type, K the reduction length, and s the root mean square
// of the reference along its last axis (at least 32 elements long), else over the whole tensor. Besides, the norm of all errors
// is bounded by 4 (u sqrt(K) + u_out) ||ref|| plus the same floor. A tensor of fewer than 32 elements is judged together with
// further draws of the same case until 32 are covered (task/cases.h, draws_to_pool).
//
// An element that its reference does not decide, for it moves by an eighth of the bound, or more than products do, when the last bits of its inputs change
// (trial/references.h, `moves`), is not compared: softmax of large products is such.
//
// Apart from every tolerance: where the reference is not degenerate (all zero, constant, a copy of an input), an output that is so is
// wrong, with noise on it, too (trivial_output.h); and NaN and infinities must stand where the reference has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "task/cases.h"
#include "task/task.h"

namespace kforge::judge {

struct NumericsOptions {
  task::Dtype dtype = task::Dtype::f32;         // of the output
  task::Dtype accumulate = task::Dtype::f32;
  double reduction_length = 1;                  // K >= 1
  double c = 4;
  std::optional<double> abs = {}, rel = {};     // the task's own bounds: |out - ref| <= abs + rel |ref| in place of the above
  double integer_difference = 0;                // of integer outputs
  bool allow_nan = false;                       // the task may ask for NaN; else a NaN in the reference is reported
  bool degenerate_is_wrong = true;              // false: an output that is zero, constant or a copy is judged by its errors alone
};

// The options that the task states for one of its outputs.
Expected<NumericsOptions> numerics_options(const task::Task& task, const task::Tensor& output, const task::Sizes& sizes);

// K: `[numerics] reduction`, else the product of the dimensions absent from the output, else 1. A dimension of an input is absent
// when none of its size names occurs in the output's shape (a constant one: when the output has no such constant). Errors: bad_input.
Expected<double> reduction_length(const task::Task& task, const task::Tensor& output, const task::Sizes& sizes);

// An input as the candidate saw it, for the copy-of-an-input rule.
struct InputView {
  task::Dtype dtype = task::Dtype::f32;
  std::span<const std::byte> bytes;
  const task::TensorLayout* layout = nullptr;
};

// One call: what the candidate wrote and what is right. `out` may be empty: the reference alone then widens the pool.
struct Draw {
  std::span<const std::byte> out;               // layout.bytes
  std::span<const double> reference;            // layout.elements, row-major
  std::span<const std::int64_t> exact;          // integer outputs, optional: used in place of `reference` (i64 beyond 2^53)
  std::span<const InputView> inputs;
  std::span<const double> moves = {};           // by how much each reference moves with its inputs' last bits; empty: unknown
};

enum class Degenerate : std::uint8_t { no, zero, constant, copy };  // copy: of input number `input`
struct Degeneracy {
  Degenerate kind = Degenerate::no;
  std::size_t input = 0;
};
std::string_view name(Degenerate kind);

struct TensorErrors {
  std::uint64_t elements = 0, mismatched = 0;
  double max_abs = 0, max_rel = 0, mae = 0, rmse = 0;
  double rel_l2 = 0;                            // infinite: errors against a zero reference
  double psnr_db = 0;                           // over the range of the reference; infinite when equal
  double cosine = 1;
  std::int64_t worst_index = -1;                // row-major, in draw `worst_draw`; the largest error over its bound; -1: no error
  std::uint32_t worst_draw = 0;
  std::vector<std::int64_t> mismatches;         // indices of the first draw that has any, ascending; at most kMismatchesKept (mismatch_pattern.h)
  std::uint64_t undecided = 0;                  // elements whose reference moves by an eighth of the bound or more: not compared
  double worst_out = 0, worst_reference = 0, worst_bound = 0;
  std::uint64_t nonfinite_disagreements = 0;    // NaN or infinity where the reference has none, or the reverse
  double norm_error = 0, norm_bound = 0;        // ||out - ref|| and its bound, of the worst draw (of all, when pooled)
  bool norm_failed = false;
  // Of outputs narrower than the accumulate type: elements that are not the nearest value of their type, of how many, and how many of them the
  // declared arithmetic would miss by its own error.
  std::uint64_t misrounded = 0, rounded = 0;
  double expected_misrounded = 0;
  bool own_bounds = false;                      // the task's own bounds were used
  bool pooled_enough = true;                    // false: fewer than 32 elements in all draws, bounds are less certain
  bool reference_has_nan = false;               // and the task does not allow it: the task or its values are at fault
  bool reference_overflows = false;             // finite in double, infinite in the output's type
  Degeneracy reference;                         // not `no`: compared, but no proof
  Degeneracy output;                            // not `no` while the reference is `no`: wrong, whatever the tolerance
  bool passed = false;
  std::string why;                              // of a failure: one line with figures
};

// Compares the draws of one case and one output. Tensors of 32 elements or more are judged draw by draw and the figures cover all
// of them; smaller ones are pooled. REQUIRES: each draw's spans have the lengths named above; at least one draw has `out`.
TensorErrors compare(std::span<const Draw> draws, const task::TensorLayout& layout, const NumericsOptions& options);

// Whether the reference's values leave the output's type (or are not finite): adversarial cases with such are dropped.
bool reference_overflows(std::span<const double> reference, task::Dtype dtype);

// What the reference of one draw is, whatever a candidate does.
Degeneracy degeneracy(const Draw& draw, const task::TensorLayout& layout, const NumericsOptions& options);

}  // namespace kforge::judge
