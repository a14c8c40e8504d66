#include "judge/elements.h"

#include <algorithm>
#include <functional>

namespace kforge::judge {
namespace {

// Byte offsets of a tensor's elements in row-major order.
std::vector<std::uint64_t> strided_offsets(const task::TensorLayout& layout, std::uint32_t bytes) {
  std::vector<std::uint64_t> offsets(static_cast<std::size_t>(layout.elements));
  std::vector<std::int64_t> index(layout.shape.size(), 0);
  std::int64_t at = 0;
  for (auto& offset : offsets) {
    offset = static_cast<std::uint64_t>(at) * bytes;
    for (std::size_t d = index.size(); d-- > 0;) {
      at += layout.strides[d];
      if (++index[d] < layout.shape[d]) break;
      at -= layout.strides[d] * layout.shape[d];
      index[d] = 0;
    }
  }
  return offsets;
}

bool contiguous(const task::TensorLayout& layout, std::uint32_t bytes) {
  return layout.bytes == static_cast<std::uint64_t>(layout.elements) * bytes &&
         std::is_sorted(layout.strides.begin(), layout.strides.end(), std::greater<>());
}

}  // namespace

Elements::Elements(std::span<const std::byte> bytes, const task::TensorLayout& layout, task::Dtype dtype)
    : bytes_(bytes), dtype_(dtype), size_(task::size_bytes(dtype)) {
  if (!contiguous(layout, size_)) offsets_ = strided_offsets(layout, size_);
}

}  // namespace kforge::judge
