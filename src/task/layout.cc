#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "task/cases.h"

namespace kforge::task {
namespace {

Unexpected too_large(const Tensor& tensor) {
  return fail(ErrorCode::bad_input, fmt::format("tensor '{}' has more bytes than 63 bits can count", tensor.name), {}, "use smaller sizes");
}

Expected<std::vector<std::int64_t>> evaluate_all(const std::vector<std::string>& expressions, const Sizes& sizes) {
  std::vector<std::int64_t> values;
  for (const auto& expression : expressions) {
    auto value = evaluate(expression, sizes);
    if (!value) return Unexpected(value.error());
    values.push_back(*value);
  }
  return values;
}

// Row-major strides: the last dimension is contiguous. False on overflow.
bool fill_row_major(TensorLayout& out) {
  out.strides.assign(out.shape.size(), 1);
  for (std::size_t i = out.shape.size(); i-- > 1;)
    if (__builtin_mul_overflow(out.strides[i], std::max<std::int64_t>(out.shape[i], 1), &out.strides[i - 1])) return false;
  return true;
}

// Elements from the first to the last one that the strides reach. False on overflow.
bool span_of(const TensorLayout& layout, std::int64_t& span) {
  span = 1;
  for (std::size_t i = 0; i < layout.shape.size(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(layout.shape[i] - 1, layout.strides[i], &reach)) return false;
    if (__builtin_add_overflow(span, reach, &span)) return false;
  }
  return true;
}

// Whether two elements may share memory: sorted by stride, each step must clear all that the smaller ones reach.
bool overlaps(const TensorLayout& layout) {
  std::vector<std::size_t> order(layout.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return layout.strides[a] < layout.strides[b]; });
  std::int64_t reach = 0;
  for (const auto i : order) {
    if (layout.shape[i] < 2) continue;
    if (layout.strides[i] <= reach) return true;
    reach += (layout.shape[i] - 1) * layout.strides[i];
  }
  return false;
}

}  // namespace

Expected<TensorLayout> layout(const Tensor& tensor, const Sizes& sizes) {
  TensorLayout out;
  auto shape = evaluate_all(tensor.shape, sizes);
  if (!shape) return Unexpected(shape.error());
  out.shape = std::move(*shape);
  out.elements = 1;
  for (const auto extent : out.shape)
    if (__builtin_mul_overflow(out.elements, extent, &out.elements)) return too_large(tensor);
  if (tensor.strides.empty()) {
    if (!fill_row_major(out)) return too_large(tensor);
  } else {
    auto strides = evaluate_all(tensor.strides, sizes);
    if (!strides) return Unexpected(strides.error());
    if (strides->size() != out.shape.size())
      return fail(ErrorCode::bad_input, fmt::format("tensor '{}' has {} dimensions and {} strides", tensor.name, out.shape.size(), strides->size()),
                  {}, "give one stride a dimension, in elements");
    out.strides = std::move(*strides);
  }
  std::int64_t span = 0;
  if (out.elements == 0) return out;
  if (!span_of(out, span) || __builtin_mul_overflow(span, static_cast<std::int64_t>(size_bytes(tensor.dtype)), &span)) return too_large(tensor);
  out.bytes = static_cast<std::uint64_t>(span);
  if (tensor.role != Role::in && overlaps(out))
    return fail(ErrorCode::bad_input, fmt::format("elements of '{}' overlap: an output needs memory of its own for each", tensor.name), {},
                "make each stride at least the extent times the stride of the dimension inside it");
  return out;
}

}  // namespace kforge::task
