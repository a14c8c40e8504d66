#include "emulator/bulk_copy.h"

#include <algorithm>
#include <cstring>

namespace kforge::emulator {
namespace {

// CUtensorMapDataType of floating point.
constexpr int kHalf = 6, kDouble = 8, kBfloat = 9, kLastFloat = 12;

std::uint32_t elements_across(const TensorMap& map, std::uint32_t dim) {
  const std::uint32_t step = dim == 0 && map.interleave == 0 ? 1 : map.element_strides[dim];
  return (map.box[dim] + step - 1) / step;
}

// Cuts what lies in one row of the box where the swizzle moves pieces apart.
void cut(const BulkCopy& copy, Address linear, Address global, std::uint64_t bytes, const std::function<void(const BulkPiece&)>& visit) {
  const std::uint32_t swizzle = copy.mode.dims == 0 ? 0 : copy.map.swizzle;
  while (bytes != 0) {
    const Address at = copy.shared + linear;
    const std::uint64_t part = swizzle == 0 ? bytes : std::min<std::uint64_t>(bytes, 16 - at % 16);
    visit({swizzled(at, swizzle), global, static_cast<std::uint32_t>(part)});
    linear += part;
    if (global != 0) global += part;
    bytes -= part;
  }
}

}  // namespace

std::uint64_t box_bytes(const TensorMap& map) {
  std::uint64_t bytes = tensor_element_bytes(map.type);
  for (std::uint32_t i = 0; i < map.rank; ++i) bytes *= elements_across(map, i);
  return bytes;
}

void for_pieces(const BulkCopy& copy, const std::function<void(const BulkPiece&)>& visit) {
  if (copy.mode.dims == 0) return visit({copy.shared, copy.global, static_cast<std::uint32_t>(copy.bytes)});
  const TensorMap& map = copy.map;
  const std::int64_t width = tensor_element_bytes(map.type), across = elements_across(map, 0);
  const auto extent = static_cast<std::int64_t>(map.dims[0]);
  const std::int64_t first = copy.at[0];
  const std::int64_t left = std::clamp<std::int64_t>(-first, 0, across), right = std::clamp<std::int64_t>(extent - first, left, across);
  std::array<std::uint32_t, kMostTensorDims> index{};
  for (Address linear = 0;; linear += static_cast<Address>(across * width)) {
    bool inside = true;
    Address row = map.address;
    for (std::uint32_t i = 1; i < map.rank; ++i) {
      const std::int64_t place = std::int64_t{copy.at[i]} + std::int64_t{index[i]} * map.element_strides[i];
      inside &= place >= 0 && place < static_cast<std::int64_t>(map.dims[i]);
      row += static_cast<Address>(place) * map.strides[i - 1];
    }
    if (!inside) {
      cut(copy, linear, 0, static_cast<std::uint64_t>(across * width), visit);
    } else {
      cut(copy, linear, 0, static_cast<std::uint64_t>(left * width), visit);
      cut(copy, linear + static_cast<Address>(left * width), row + static_cast<Address>((first + left) * width), static_cast<std::uint64_t>((right - left) * width), visit);
      cut(copy, linear + static_cast<Address>(right * width), 0, static_cast<std::uint64_t>((across - right) * width), visit);
    }
    std::uint32_t dim = 1;
    while (dim < map.rank && ++index[dim] == elements_across(map, dim)) index[dim++] = 0;
    if (dim >= map.rank) return;
  }
}

void fill_outside(const TensorMap& map, std::byte* to, std::uint32_t bytes) {
  std::memset(to, 0, bytes);
  if (map.fill == 0 || map.type < kHalf || map.type > kLastFloat) return;
  const std::uint32_t width = tensor_element_bytes(map.type);
  const std::uint64_t nan = map.type == kDouble ? 0x7fffffffffffffffu : map.type == kHalf || map.type == kBfloat ? 0x7fffu : 0x7fffffffu;
  for (std::uint32_t i = 0; i + width <= bytes; i += width) std::memcpy(to + i, &nan, width);
}

}  // namespace kforge::emulator
