#include "emulator/lane_shape.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <numeric>

namespace kforge::emulator {
namespace {

constexpr std::size_t kMostShapes = 512;   // of one pool

Octet octet_of(const LaneShape& shape, std::size_t first) {
  bool same = true, consecutive = true;
  for (std::size_t i = 1; i < 8; ++i) {
    const std::uint64_t difference = shape.delta[first + i] - shape.delta[first];
    same &= difference == 0;
    consecutive &= difference == i * shape.bytes;
  }
  return same ? Octet::same : consecutive ? Octet::consecutive : Octet::scattered;
}

void find_units(LaneShape& shape) {
  std::array<std::uint8_t, 32> order;
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  const auto delta = [&](std::uint8_t lane) { return static_cast<std::int64_t>(shape.delta[lane]); };
  std::stable_sort(order.begin(), order.end(), [&](std::uint8_t a, std::uint8_t b) { return delta(a) < delta(b); });
  for (const std::uint8_t lane : order) {
    if (shape.units != 0 && shape.unit_delta[shape.units - 1] == delta(lane)) {
      shape.unit_last_lane[shape.units - 1] = lane;
      continue;
    }
    shape.unit_delta[shape.units] = static_cast<std::int32_t>(delta(lane));
    shape.unit_lane[shape.units] = shape.unit_last_lane[shape.units] = lane;
    ++shape.units;
  }
  for (std::uint32_t i = 0; i < shape.units; ++i) {
    if (i == 0 || shape.unit_delta[i] != shape.unit_delta[i - 1] + static_cast<std::int64_t>(shape.bytes))
      shape.run[shape.runs++] = {static_cast<std::uint8_t>(i), 0};
    ++shape.run[shape.runs - 1].count;
  }
}

LaneShape make_shape(const LaneAddresses& addresses, std::uint32_t bytes) {
  LaneShape shape;
  shape.bytes = bytes;
  std::int64_t high = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    shape.delta[i] = addresses[i] - addresses[0];
    shape.delta32[i] = static_cast<std::uint32_t>(shape.delta[i]);
    shape.low_bits |= shape.delta[i];
    shape.low = std::min(shape.low, static_cast<std::int64_t>(shape.delta[i]));
    high = std::max(high, static_cast<std::int64_t>(shape.delta[i]));
  }
  shape.span = static_cast<std::uint64_t>(high - shape.low) + bytes;
  constexpr std::int64_t kFarthest = (std::int64_t{1} << 31) - 64;
  shape.simple = shape.low > -kFarthest && high < kFarthest && shape.low_bits % bytes == 0;
  if (!shape.simple) return shape;
  shape.consecutive = is_consecutive(addresses, bytes);
  for (std::size_t k = 0; k < 4; ++k) shape.octets[k] = octet_of(shape, 8 * k);
  find_units(shape);
  // Any base that is a multiple of `bytes` and keeps offsets positive will do.
  constexpr std::uint64_t kSomewhere = std::uint64_t{1} << 32;
  shape.load_wavefronts = count_wavefronts(shape.addresses(kSomewhere), ~0u, bytes);
  shape.store_wavefronts = count_store_wavefronts(shape.addresses(kSomewhere), ~0u, bytes);
  return shape;
}

}  // namespace

const SectorCount& LaneShape::sectors_at(std::uint64_t base) const {
  const std::uint32_t at = base % 32;
  if ((known_sectors >> at & 1) == 0) {
    sectors[at] = count_sectors(addresses(base), ~0u, bytes);
    known_sectors |= 1u << at;
  }
  return sectors[at];
}

const LaneShape* ShapePool::intern(const LaneAddresses& addresses, std::uint32_t bytes, bool may_add, bool& added) {
  added = false;
  LaneAddresses delta;
  for (std::size_t i = 0; i < 32; ++i) delta[i] = addresses[i] - addresses[0];
  const std::uint64_t hash = XXH3_64bits_withSeed(delta.data(), sizeof delta, bytes);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto entry = first; entry != last; ++entry)
    if (entry->second->bytes == bytes && entry->second->delta == delta) return entry->second;
  if (!may_add || shapes_.size() >= kMostShapes) return nullptr;
  added = true;
  const LaneShape* shape = &shapes_.emplace_back(make_shape(addresses, bytes));
  by_hash_.emplace(hash, shape);
  return shape;
}

}  // namespace kforge::emulator
