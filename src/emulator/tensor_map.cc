#include "emulator/tensor_map.h"

#include <iterator>

namespace kforge::emulator {
namespace {

// uint8, uint16, uint32, int32, uint64, int64, float16, float32, float64, bfloat16, float32 flushed, tfloat32, tfloat32 flushed.
constexpr std::uint32_t kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
constexpr std::uint64_t kMostStride = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostExtent = std::uint64_t{1} << 32;
constexpr std::uint32_t kMostBox = 256, kMostElementStride = 8;

// Of CUtensorMapSwizzle 0 to 3: none, 32, 64, 128 bytes.
std::uint64_t swizzle_bytes(int swizzle) { return swizzle == 0 ? ~std::uint64_t{0} : std::uint64_t{16} << swizzle; }

}  // namespace

std::uint32_t tensor_element_bytes(int type) {
  return type >= 0 && static_cast<std::size_t>(type) < std::size(kElementBytes) ? kElementBytes[type] : 0;
}

bool encode_tiled(TensorMap& map, const TiledDescription& wanted) {
  const std::uint32_t bytes = tensor_element_bytes(wanted.type);
  if (bytes == 0 || wanted.rank == 0 || wanted.rank > kMostTensorDims) return false;
  if (wanted.interleave < 0 || wanted.interleave > 2 || wanted.swizzle < 0 || wanted.swizzle > 3 || wanted.promotion < 0 || wanted.promotion > 3) return false;
  if (wanted.fill < 0 || wanted.fill > 1 || (wanted.interleave != 0 && wanted.rank < 3)) return false;
  const std::uint64_t alignment = wanted.interleave == 2 ? 32 : 16;
  if (wanted.address == 0 || wanted.address % alignment != 0) return false;
  map = {};
  map.type = static_cast<std::uint8_t>(wanted.type), map.rank = static_cast<std::uint8_t>(wanted.rank);
  map.interleave = static_cast<std::uint8_t>(wanted.interleave), map.swizzle = static_cast<std::uint8_t>(wanted.swizzle);
  map.promotion = static_cast<std::uint8_t>(wanted.promotion), map.fill = static_cast<std::uint8_t>(wanted.fill);
  map.address = wanted.address;
  for (std::uint32_t i = 0; i < wanted.rank; ++i) {
    if (wanted.dims[i] == 0 || wanted.dims[i] > kMostExtent || wanted.box[i] == 0 || wanted.box[i] > kMostBox) return false;
    if (wanted.element_strides[i] == 0 || wanted.element_strides[i] > kMostElementStride) return false;
    map.dims[i] = wanted.dims[i];
    map.box[i] = static_cast<std::uint16_t>(wanted.box[i]);
    map.element_strides[i] = static_cast<std::uint8_t>(wanted.element_strides[i]);
    if (i + 1 == wanted.rank) break;
    if (wanted.strides[i] % alignment != 0 || wanted.strides[i] >= kMostStride) return false;
    map.strides[i] = wanted.strides[i];
  }
  const std::uint64_t inner = std::uint64_t{wanted.box[0]} * bytes;
  return wanted.interleave != 0 || (inner % 16 == 0 && inner <= swizzle_bytes(wanted.swizzle));
}

}  // namespace kforge::emulator
