// The shape of a full warp's request: each lane's address relative to lane 0's. A memory instruction repeats one shape, or a
// few, however its address moves; what depends on the shape alone (bank conflicts, distinct addresses, how the bytes are
// best copied) is worked out once, and an access compares 32 differences in place of looking at 32 addresses five times over.
//
// Shapes are interned: equal shapes of one pool are one object that lives as long as the pool, so that a log may keep a
// pointer. A pool belongs to one worker of one launch.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "emulator/request.h"

namespace kforge::emulator {

enum class Octet : std::uint8_t { same, consecutive, scattered };   // eight neighbouring lanes

struct LaneShape {
  alignas(64) std::array<std::uint64_t, 32> delta{};     // address of a lane - address of lane 0
  alignas(64) std::array<std::uint32_t, 32> delta32{};   // the same, modulo 2^32
  std::int64_t low = 0;            // least delta
  std::uint64_t span = 0;          // bytes from the lowest byte to past the highest
  std::uint64_t low_bits = 0;      // of all deltas: alignment
  std::uint32_t bytes = 0;         // per lane
  bool simple = false;             // deltas of less than 2^31, multiples of `bytes`: units do not overlap in part
  bool consecutive = false;        // lane i asks for the bytes after lane i - 1's
  std::array<Octet, 4> octets{};

  // Distinct addresses, ascending. Of each: its delta, the lowest and the highest lane that has it.
  std::uint32_t units = 0;
  std::array<std::int32_t, 32> unit_delta{};
  std::array<std::uint8_t, 32> unit_lane{}, unit_last_lane{};

  // Maximal runs of neighbouring units.
  struct Run { std::uint8_t first = 0, count = 0; };
  std::uint32_t runs = 0;
  std::array<Run, 32> run{};

  // Wavefronts do not depend on the base when lanes ask for whole words. Sectors depend on it modulo 32.
  WavefrontCount load_wavefronts, store_wavefronts;
  mutable std::uint32_t known_sectors = 0;
  mutable std::array<SectorCount, 32> sectors{};

  const SectorCount& sectors_at(std::uint64_t base) const;   // `base`: address of lane 0
  LaneAddresses addresses(std::uint64_t base) const {
    LaneAddresses result;
    for (std::size_t i = 0; i < 32; ++i) result[i] = base + delta[i];
    return result;
  }
};

class ShapePool {
 public:
  // Null: not there, and `may_add` is false or the pool is full. `added`: the shape is new.
  const LaneShape* intern(const LaneAddresses& addresses, std::uint32_t bytes, bool may_add, bool& added);

 private:
  std::deque<LaneShape> shapes_;
  std::unordered_multimap<std::uint64_t, const LaneShape*> by_hash_;
};

}  // namespace kforge::emulator
