// One warp's access to memory on its way through the executor: which bytes it means, and what the observers are told.
#pragma once

#include <atomic>
#include <cstdint>

#include "emulator/launch.h"

namespace kforge::emulator {

// The bytes that a request may touch: an allocation, a block's shared window, or memory of another kind.
struct Window {
  std::byte* data = nullptr;    // of the first byte
  Address base = 0;             // address of the first byte, as the lanes write it
  std::uint64_t size = 0;
  Allocation* allocation = nullptr;

  std::byte* at(Address address) const { return data + (address - base); }
};

enum class Direction : std::uint8_t { load, store, atomic };

// Lanes of `mask` whose `bytes` at addresses[lane] lie in the window.
std::uint32_t lanes_inside(const LaneAddresses& addresses, std::uint32_t mask, const Window& window, std::uint32_t bytes);
// Lanes of `mask` whose address is no multiple of `bytes` (a power of two).
std::uint32_t lanes_misaligned(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes);
// Every lane active and each address `bytes` after the one of the lane before.
bool is_contiguous(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes);

// Splits a request into windows and calls `perform(window, lanes)` for each, once every lane is known to be right; reports the
// fault of the lowest wrong lane otherwise. Generic addresses are told apart here; `space` is what the instruction says.
// `addresses` become offsets for shared and local memory.
struct Request {
  LaneAddresses addresses{};
  std::uint32_t mask = 0;
  std::uint32_t bytes = 0;          // per lane, all elements
  ptx::Space space = ptx::Space::generic;
  Direction direction = Direction::load;
  bool counts = true;               // false: the machine moves it in other pieces, which are counted by themselves
  Block* owner = nullptr;           // of shared memory: another block of the cluster; null: the warp's own
};

// The block whose shared memory a request means.
inline Block& owner_of(const Warp& warp, const Request& request) { return request.owner != nullptr ? *request.owner : *warp.block; }

// address = r[k] (64 or 32 bits) + op.immediate in each lane of the mask.
void lane_addresses(const Warp& warp, const Op& op, std::size_t k, std::uint32_t mask, LaneAddresses& addresses);

// The space of a generic address.
ptx::Space space_of(Address address);

// The first of `lanes`, as a mask, where its access misses a live allocation by less than a GPU's page of 2 MB and the launch forgives
// that; else 0. Such a load gives zero, a store is lost, an atomic finds zero.
std::uint32_t lost_lane(const Warp& warp, const Request& request, std::uint32_t lanes);
// What that lane accesses instead: zeroed bytes that nobody else sees.
Window lost_bytes(const Request& request, std::uint32_t lane);

Flow fault_global(Warp& warp, const Op& op, const Request& request, std::uint32_t lanes);
Flow fault_misaligned(Warp& warp, const Op& op, const Request& request, std::uint32_t lanes);
Flow fault_read_only(Warp& warp, const Op& op, const Request& request, const Allocation& allocation);
Flow fault_window(Warp& warp, const Op& op, const Request& request, std::uint32_t lanes, std::string_view space, std::uint64_t size);

// safety.async: shared memory that an ordinary instruction wrote is read through the async proxy, by `what`, with no fence.proxy.async between.
void report_unfenced(Warp& warp, const Op& op, std::uint32_t lanes, const UnfencedWrite& write, std::string_view what);

// Profile: requests, sectors, wavefronts, and the worst example of each.
void count_global(Warp& warp, const Op& op, const Request& request);
void count_shared(Warp& warp, const Op& op, const Request& request);
void count_local(Warp& warp, const Op& op);
// Keeps the request as the op's worst example if it is.
void keep_worst_global(Warp& warp, const Op& op, const Request& request, const SectorCount& count);
void keep_worst_shared(Warp& warp, const Op& op, const Request& request, const WavefrontCount& count);
// Sets bits of a word that other workers may set bits of.
inline void or_bits(std::uint64_t& word, std::uint64_t bits) {
  const std::atomic_ref<std::uint64_t> shared(word);
  if ((shared.load(std::memory_order_relaxed) & bits) != bits) shared.fetch_or(bits, std::memory_order_relaxed);
}
// Coverage: sets the bits of the bytes that a kernel stored.
void mark_stored_bytes(Allocation& allocation, const Request& request);
void mark_stored_range(Allocation& allocation, std::uint64_t offset, std::uint64_t bytes);
// The same in `words`, a bit a byte of the allocation; REQUIRES of a range that the words are there.
void mark_bytes(std::vector<std::uint64_t>& words, const Allocation& allocation, const Request& request);
void mark_range(std::vector<std::uint64_t>& words, std::uint64_t offset, std::uint64_t bytes);

}  // namespace kforge::emulator
