// Tensor maps: what a CUtensorMap of 128 bytes holds on the emulated device. The program gets one from cuTensorMapEncodeTiled and
// hands it to a kernel unread; its bits are NVIDIA's secret, so that these are our own.
#pragma once

#include <cstdint>
#include <type_traits>

#include "emulator/memory.h"

namespace kforge::emulator {

inline constexpr std::uint32_t kTensorMapMagic = 0x50414d54;   // "TMAP"
inline constexpr std::uint32_t kMostTensorDims = 5;

struct TensorMap {
  std::uint32_t magic = kTensorMapMagic;
  std::uint8_t type = 0;                 // CUtensorMapDataType
  std::uint8_t rank = 0;
  std::uint8_t interleave = 0, swizzle = 0, promotion = 0, fill = 0;   // numbers of cuda.h
  std::uint8_t element_strides[kMostTensorDims]{};
  std::uint8_t unused = 0;
  Address address = 0;                   // of element (0, ..., 0)
  std::uint64_t strides[kMostTensorDims - 1]{};   // bytes from one index to the next, of dimensions 1, 2, ...
  std::uint64_t dims[kMostTensorDims]{};          // elements, innermost first
  std::uint16_t box[kMostTensorDims]{};
  std::uint8_t padding[6]{};
};
static_assert(sizeof(TensorMap) <= 128 && std::is_trivially_copyable_v<TensorMap>);

struct TiledDescription {
  int type;
  std::uint32_t rank;
  Address address;
  const std::uint64_t* dims;
  const std::uint64_t* strides;          // rank - 1
  const std::uint32_t* box;
  const std::uint32_t* element_strides;
  int interleave, swizzle, promotion, fill;
};

// Bytes of an element of a CUtensorMapDataType; 0 for an unknown one.
std::uint32_t tensor_element_bytes(int type);
// False where the driver answers CUDA_ERROR_INVALID_VALUE (CUDA driver API, cuTensorMapEncodeTiled): alignment of address and strides,
// ranges of dimensions, boxes and element strides, inner box against the swizzle's width.
bool encode_tiled(TensorMap& map, const TiledDescription& wanted);

// Where a swizzle puts the byte at a shared-memory address (PTX manual, "Swizzling modes"): within spans of 32, 64 or 128 bytes (CUtensorMapSwizzle
// 1, 2, 3) the number of the 16-byte piece is combined with the address bits from 7 on.
inline Address swizzled(Address address, std::uint32_t swizzle) { return address ^ ((address >> 7 & ((1u << swizzle) - 1)) << 4); }

}  // namespace kforge::emulator
