// The cases of a check: at which sizes and on which values a candidate is tried (contracts.md, "Cases").
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "task/task.h"

namespace kforge::task {

struct Case {
  Sizes sizes;
  std::string values = "declared";  // declared zeros denormals large mixed_signs repeated_integers negative positive
  std::uint64_t seed = 0;
  std::uint32_t calls = 1;          // > 1: called so often at the same addresses with fresh inputs (seed, seed + 1, ...)
  bool measure = false;             // one of the sizes that are timed
  std::string label;                // "rows=17 cols=1000", for people
};

struct CaseOptions {
  std::uint64_t seed = 1;
  bool with_measure = true;
  // Extents that one block covers, by size name, when known: adds tile - 1, tile, tile + 1 and one and a half of that size.
  std::map<std::string, std::vector<std::int64_t>> tile_sizes = {};
  // What the other dimensions are, at most, where one has a built-in extent.
  std::int64_t base = 65;
  // Not 0: inputs are drawn from it, too, and two sizes up to the measured ones, so that a candidate that knows `seed` cannot know them.
  std::uint64_t fresh_seed = 0;
};

// In order: verify sizes, built-in sizes, adversarial values, repeated calls, drawn sizes, measure sizes. Sizes that `where` excludes
// are not there; duplicates are removed. Errors: bad_input when no size is left.
Expected<std::vector<Case>> make_cases(const Task& task, const CaseOptions& options);

// How many fresh draws cover 32 elements of each floating output: contracts.md, "Numerics", pools small outputs so far. 1 for larger
// ones. Where a case makes fewer calls (its tensors are too large to repeat), further draws of the reference alone will do.
std::uint32_t draws_to_pool(const Task& task, const Sizes& sizes);

// Elements of all tensors; nothing where one cannot be laid out or has none.
std::optional<std::int64_t> total_elements(const Task& task, const Sizes& sizes);

struct TensorLayout {
  std::vector<std::int64_t> shape, strides;   // elements
  std::int64_t elements = 0;                  // product of shape
  std::uint64_t bytes = 0;                    // of the buffer, strides counted
};
Expected<TensorLayout> layout(const Tensor& tensor, const Sizes& sizes);

// The bytes of one input: a function of (task, tensor, sizes, kind of values, seed) alone. `out` tensors give an error.
Expected<std::vector<std::byte>> make_input(const Task& task, const Tensor& tensor, const Sizes& sizes,
                                            std::string_view values, std::uint64_t seed);

}  // namespace kforge::task
