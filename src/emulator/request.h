// One warp's memory request: what the executor hands to the observers that judge addresses. The functions here are pure:
// they know nothing of warps that run, and are tested on their own against the rules of contracts.md and hardware counters.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace kforge::emulator {

using LaneAddresses = std::array<std::uint64_t, 32>;

// A full warp asks for one run of bytes: lane i at addresses[0] + i * bytes. (Lanes outside a mask are not looked at by the
// caller's rule: test the mask first.) The shape that every observer has a short way for.
inline bool is_consecutive(const LaneAddresses& addresses, std::uint32_t bytes) {
  std::uint64_t difference = 0;
  for (std::uint64_t lane = 0; lane < 32; ++lane) difference |= addresses[lane] - lane * bytes - addresses[0];
  return difference == 0;
}

struct SectorCount {
  std::uint32_t sectors = 0;         // distinct 32-byte sectors touched
  std::uint32_t ideal = 0;           // sectors that the distinct bytes touch when packed from the request's lowest address
  std::uint32_t aligned_ideal = 0;   // distinct bytes / 32, rounded up
  std::uint32_t distinct_bytes = 0;
  std::uint32_t whole = 0;           // sectors all of whose bytes are asked for
  std::uint32_t lines = 0;           // distinct 128-byte lines
};
// `bytes` per lane: 1, 2, 4, 8, 16 (or 32). Lanes outside `mask` are ignored.
SectorCount count_sectors(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes);

// Cycles of L1's data stage: a load reads a word of each bank a cycle, as shared memory does, and looks up four lines; a store sends a packet of
// up to 64 bytes of a line a cycle to L2 (docs/time-model.md gives the measurements).
inline std::uint32_t load_cycles(std::uint32_t wavefronts, const SectorCount& count) { return wavefronts > (count.lines + 3) / 4 ? wavefronts : (count.lines + 3) / 4; }
inline std::uint32_t store_cycles(const SectorCount& count) { return count.lines > (count.sectors + 1) / 2 ? count.lines : (count.sectors + 1) / 2; }

// Global atomics: passes through the sectors. Lanes of one sector go together as long as their words differ.
std::uint32_t count_atomic_passes(const LaneAddresses& addresses, std::uint32_t mask);
// Shared atomics: the most lanes that fall on one bank, whether or not their words are the same.
std::uint32_t most_lanes_of_a_bank(const LaneAddresses& addresses, std::uint32_t mask);

struct WavefrontCount {
  std::uint32_t wavefronts = 0;
  std::uint32_t ideal = 0;           // the parts left after merging (contracts.md, "Shared-memory wavefronts")
};
// Of a load. `addresses` are offsets in the block's shared window.
WavefrontCount count_wavefronts(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes);
// The same of a store: its parts never merge, however the lanes agree (seen on an H200: docs/h200-goldens.md).
WavefrontCount count_store_wavefronts(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes);

// The count of one instruction's last request, used again when the next one is the same but for a whole number of periods (a
// loop that walks through a tile): counts depend on addresses only up to that. Keep one an instruction and kind of count.
template <class Count, Count (*kCount)(const LaneAddresses&, std::uint32_t, std::uint32_t), std::uint64_t kPeriodBytes>
class RequestMemo {
 public:
  const Count& count(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes) {
    if (mask != mask_ || bytes != bytes_ || !is_moved(addresses)) [[unlikely]] {
      count_ = kCount(addresses, mask, bytes);
      last_ = addresses;
      mask_ = mask;
      bytes_ = bytes;
    }
    return count_;
  }

 private:
  bool is_moved(const LaneAddresses& addresses) const {
    const std::uint64_t distance = addresses[0] - last_[0];
    std::uint64_t difference = distance % kPeriodBytes;
    for (std::size_t lane = 0; lane < addresses.size(); ++lane) difference |= (addresses[lane] - last_[lane]) ^ distance;
    return difference == 0;
  }

  LaneAddresses last_{};
  Count count_{};
  std::uint32_t mask_ = 0;   // no request yet: an empty mask counts nothing
  std::uint32_t bytes_ = 0;
};
using SectorMemo = RequestMemo<SectorCount, count_sectors, 32>;
using WavefrontMemo = RequestMemo<WavefrontCount, count_wavefronts, 128>;

// One observed shared-memory request, for the padding calculator.
struct ObservedRequest {
  LaneAddresses addresses{};         // offsets in the block's shared window
  std::uint32_t mask = 0;
  std::uint32_t bytes = 0;           // per lane
};
// The smallest padding, in bytes added to each row, that makes all `requests` free of conflicts (wavefronts = ideal), when the
// array starts at window offset `array_base` and its rows are `row_pitch_bytes` long now: an address in row r moves by r times the padding. Paddings are multiples of the
// widest access, so that alignment is kept, and less than 128 bytes (banks repeat after that). 0: no conflict as it is.
// nullopt: no padding helps (or row_pitch_bytes is 0).
std::optional<std::uint32_t> smallest_padding(std::span<const ObservedRequest> requests, std::uint64_t array_base,
                                              std::uint32_t row_pitch_bytes);

}  // namespace kforge::emulator
