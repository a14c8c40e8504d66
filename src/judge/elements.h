// The elements of a tensor's bytes, as the judge reads them: row-major, whatever the strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "task/cases.h"
#include "task/dtype_convert.h"

namespace kforge::judge {

// The elements of a buffer, row-major, as the type's exact values.
class Elements {
 public:
  Elements(std::span<const std::byte> bytes, const task::TensorLayout& layout, task::Dtype dtype);
  double operator[](std::size_t i) const {
    if (dtype_ != task::Dtype::f32) return task::load_element(dtype_, at(i));
    float value;   // the frequent type, without a call
    std::memcpy(&value, at(i), sizeof value);
    return value;
  }
  std::int64_t integer(std::size_t i) const { return task::load_integer(dtype_, at(i)); }
  // Where element i and those after it lie side by side as floats; else null.
  const std::byte* floats_from(std::size_t i) const { return dtype_ == task::Dtype::f32 && offsets_.empty() ? at(i) : nullptr; }

 private:
  const std::byte* at(std::size_t i) const { return bytes_.data() + (offsets_.empty() ? i * size_ : offsets_[i]); }
  std::span<const std::byte> bytes_;
  task::Dtype dtype_;
  std::uint32_t size_;
  std::vector<std::uint64_t> offsets_;
};

}  // namespace kforge::judge
