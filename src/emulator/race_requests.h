// What the cells of global memory share. All lanes of a warp instruction have clock, location, warp and block in common, and so have
// all instances of an instruction that a warp runs in one interval: that is a request, kept once, and a cell says in four bytes
// which request it was and which of its lanes. So a byte of memory that is read and written costs two bytes of shadow and a little,
// unless requests of one lane write it word by word. Requests that no cell names any more are forgotten (EpochEngine::forget_requests).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace kforge::emulator::epochs {

using Slot = std::uint64_t;  // clock:31 location:20 update:1 many:2 thread:10; 0: no access
inline constexpr int kManyAt = 10;

// As an access is looked at.
struct GlobalCell {
  Slot slot = 0;
  std::uint32_t block = 0;
};

// As it is kept: request:25 many:2 lane:5; 0: no access.
struct PackedCell {
  std::uint32_t bits = 0;
  std::uint32_t request() const { return bits >> 7; }
};

class Requests {
 public:
  static constexpr std::uint32_t kBytes = sizeof(Slot) + sizeof(std::uint32_t);   // of one request
  static constexpr std::uint32_t kMost = (1u << 25) - 1;

  GlobalCell look_at(PackedCell cell) const {
    if (cell.bits == 0) return {};
    return {slots_[cell.request()] | (cell.bits & 31) | static_cast<Slot>(cell.bits >> 5 & 3) << kManyAt, blocks_[cell.request()]};
  }
  static PackedCell pack(std::uint32_t request, Slot slot) {
    return {request << 7 | static_cast<std::uint32_t>(slot >> kManyAt & 3) << 5 | static_cast<std::uint32_t>(slot & 31)};
  }

  // The request with this slot (thread: the warp's first; not "many") and block. 0: there is no room, forget() some first.
  std::uint32_t find_or_add(Slot slot, std::uint32_t block) {
    std::uint32_t& recent = recent_[((slot >> 5) * 0x9e3779b97f4a7c15u ^ (slot >> 33) * 0xff51afd7ed558ccdu ^ block * 0xc4ceb9fe1a85ec53u) >> 54];
    if (slots_[recent] == slot && blocks_[recent] == block) [[likely]] return recent;
    const std::uint32_t added = add(slot, block);
    if (added != 0) recent = added;
    return added;
  }
  // Keeps what `in_use` names, by request, and makes room for others: as many again, or one for each 64 of `cells`.
  void forget(const std::vector<bool>& in_use, std::uint64_t cells);
  std::size_t count() const { return slots_.size(); }
  std::uint64_t bytes() const { return limit_ * kBytes; }

 private:
  std::uint32_t add(Slot slot, std::uint32_t block);

  std::vector<Slot> slots_{0};
  std::vector<std::uint32_t> blocks_{0};
  std::vector<std::uint32_t> free_;
  std::uint64_t limit_ = 512;
  std::array<std::uint32_t, 1024> recent_{};
};

}  // namespace kforge::emulator::epochs
