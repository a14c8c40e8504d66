// One warp's memory request: what the executor hands to the observers that judge addresses. The functions here are pure:
// they know nothing of warps that run, and are tested on their own against the rules of contracts.md and hardware counters.
#pragma once

#include <array>
#include <cstdint>

namespace kforge::emulator {

using LaneAddresses = std::array<std::uint64_t, 32>;

struct SectorCount {
  std::uint32_t sectors = 0;         // distinct 32-byte sectors touched
  std::uint32_t ideal = 0;           // sectors that the distinct bytes touch when packed from the request's lowest address
  std::uint32_t aligned_ideal = 0;   // distinct bytes / 32, rounded up
  std::uint32_t distinct_bytes = 0;
};
// `bytes` per lane: 1, 2, 4, 8, 16 (or 32). Lanes outside `mask` are ignored.
SectorCount count_sectors(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes);

struct WavefrontCount {
  std::uint32_t wavefronts = 0;
  std::uint32_t ideal = 0;           // the parts left after merging (contracts.md, "Shared-memory wavefronts")
};
// `addresses` are offsets in the block's shared window.
WavefrontCount count_wavefronts(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes);

}  // namespace kforge::emulator
