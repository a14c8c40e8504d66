// One bulk copy that is under way (PTX manual, 9.7.9.25.4 and 9.7.9.25.5), and which bytes it means: a stretch of memory, or a box of a tensor
// that a tensor map describes. In shared memory a box is dense, the innermost dimension first, and swizzled as the map says.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "emulator/memory.h"
#include "emulator/tensor_map.h"

namespace kforge::emulator {

struct Op;
struct Block;

// remote: from shared memory to that of another block of the cluster; value: st.async and red.async, of registers.
enum class BulkKind : std::uint8_t { load, store, reduce, prefetch, remote, value };

struct BulkMode {
  BulkKind kind = BulkKind::load;
  std::uint8_t dims = 0;         // of a tensor; 0: plain bytes
  bool multicast = false;
  std::uint32_t packed() const { return static_cast<std::uint32_t>(kind) | std::uint32_t{dims} << 8 | std::uint32_t{multicast} << 16; }
  static BulkMode unpack(std::uint32_t bits) { return {static_cast<BulkKind>(bits & 0xff), static_cast<std::uint8_t>(bits >> 8), (bits >> 16 & 1) != 0}; }
};

struct BulkCopy {
  const Op* op = nullptr;
  Block* issuer = nullptr;       // and which of its threads
  std::uint32_t warp = 0, lane = 0;
  Block* block = nullptr;        // whose shared memory is filled; for stores the issuer's
  BulkMode mode;
  Address shared = 0;            // offset in the block's window
  Address global = 0;            // of plain bytes; remote: where they lie in the issuer's window
  std::uint64_t bytes = 0;       // of shared memory: what complete_tx counts
  TensorMap map;
  std::array<std::int32_t, kMostTensorDims> at{};   // coordinates of the box
  Address barrier = 0;           // loads: offset of the mbarrier in the block's window
  std::size_t source_hash = 0;   // stores that are checked: of what the source held at their issue
  std::uint32_t group = 0;       // stores: of the issuing thread
  bool moved = false;            // stores: the source was read
  std::array<std::byte, 16> value{};   // of st.async and red.async
};

// Bytes of shared memory that a box takes: elements of each dimension are every element_strides-th of the box.
std::uint64_t box_bytes(const TensorMap& map);

struct BulkPiece {
  Address shared = 0;            // offset
  Address global = 0;            // 0: outside the tensor
  std::uint32_t bytes = 0;
};
// Every byte of the copy's shared memory once.
void for_pieces(const BulkCopy& copy, const std::function<void(const BulkPiece&)>& visit);

// What loads put where the box leaves the tensor: zeros, or the NaN of the map's fill mode; for `bytes` bytes, elements aligned.
void fill_outside(const TensorMap& map, std::byte* to, std::uint32_t bytes);

}  // namespace kforge::emulator
