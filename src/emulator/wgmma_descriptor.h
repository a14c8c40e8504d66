// Matrix descriptors of wgmma (PTX manual, 9.7.15.5.1.2): where the elements of A and B lie in shared memory. 64 bits:
//   0-13 start address / 16   16-29 leading offset / 16   32-45 stride offset / 16   49-51 base offset   62-63 swizzle: none, 128, 64, 32 bytes
// With T elements in 16 bytes and spans of S bytes (the swizzle's width; without one 16), element (mn, k) lies at start +
//   K-major    mn / 8 * stride + mn % 8 * S + its byte along k; without swizzle bytes 16 to 31 along k lie a leading offset on
//   MN-major   mn / (S/16 * T) * leading + k / 8 * stride + k % 8 * S + its byte within the span; without swizzle leading and stride change roles
// and then the address is swizzled. A pattern that does not start at a multiple of 8 spans of 128 bytes says so in its base offset.
// (The formulas restate the layouts that CUTLASS writes down as "canonical"; not compared with a GPU where a base offset is not 0.)
#pragma once

#include <cstdint>

#include "emulator/memory.h"

namespace kforge::emulator {

struct MatrixDescriptor {
  std::uint32_t start = 0, leading = 0, stride = 0;   // bytes
  std::uint32_t base_offset = 0;
  std::uint32_t swizzle = 0;                          // log2 of the pieces in a span: 0 none, 1 32, 2 64, 3 128 bytes
  bool mn_major = false;

  static MatrixDescriptor unpack(std::uint64_t bits, bool mn_major) {
    const auto field = [&](std::uint32_t from, std::uint32_t count) { return static_cast<std::uint32_t>(bits >> from & ((1u << count) - 1)); };
    const std::uint32_t mode = field(62, 2);
    return {field(0, 14) << 4, field(16, 14) << 4, field(32, 14) << 4, field(49, 3), mode == 0 ? 0 : 4 - mode, mn_major};
  }

  // The 16-byte piece that holds element (mn, k) when elements have `bytes` bytes.
  Address piece(std::uint32_t mn, std::uint32_t k, std::uint32_t bytes) const {
    const std::uint32_t per_piece = 16 / bytes, span = 16u << swizzle;
    Address at = start;
    if (!mn_major) {
      const std::uint32_t along = k / per_piece;
      at += mn / 8 * stride + mn % 8 * span + (swizzle == 0 ? along * leading : along * 16);
    } else if (swizzle == 0) {
      at += mn / per_piece * stride + k / 8 * leading + k % 8 * 16;
    } else {
      const std::uint32_t across = per_piece << swizzle;
      at += mn / across * leading + k / 8 * stride + k % 8 * span + mn % across / per_piece * 16;
    }
    at &= kReach - 1;
    return at ^ ((((at >> 7) - base_offset) & ((1u << swizzle) - 1)) << 4);
  }

  static constexpr Address kReach = Address{1} << 18;   // of addresses in a descriptor
};

// Calls f(address, first mn, first k) for every 16-byte piece of `rows` by `columns` elements along mn and k.
template <class F>
void for_matrix_pieces(const MatrixDescriptor& matrix, std::uint32_t rows, std::uint32_t columns, std::uint32_t bytes, F f) {
  const std::uint32_t per_piece = 16 / bytes;
  for (std::uint32_t mn = 0; mn < rows; mn += matrix.mn_major ? per_piece : 1)
    for (std::uint32_t k = 0; k < columns; k += matrix.mn_major ? 1 : per_piece) f(matrix.piece(mn, k, bytes), mn, k);
}

}  // namespace kforge::emulator
