// Blocks of one cluster (PTX manual, "Cluster of Cooperative Thread Arrays"): they are resident together, meet at the cluster's barrier, and reach
// each other's shared memory by addresses in the window .shared::cluster.
//
// Such an address is the offset in the block's window, and from bit 24 on the rank of the block and one; zero there means the block's own, as
// every .shared::cta address is one of .shared::cluster.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "emulator/access.h"
#include "emulator/handlers.h"

namespace kforge::emulator {

struct Cluster {
  std::vector<Block*> blocks;   // by rank; all of them stay until the last has ended
  std::uint64_t number = 0;     // in the grid
  std::uint32_t arrived = 0;    // threads at the barrier, in this phase
  std::uint32_t phase = 0;      // of the barrier
};

inline constexpr std::uint32_t kClusterRankShift = 24;

// Where the block `rank` of cluster `number` lies in the grid.
std::uint64_t block_of_cluster(const evidence::Dim3& grid, const evidence::Dim3& cluster, std::uint64_t number, std::uint32_t rank);
// 0 where there is no cluster.
std::uint32_t rank_in_cluster(const Block& block);
// Whether an address of the window means the block's own memory.
bool is_own_memory(const Block& block, Address address);

// The block that an address of the window means, and the offset in its shared memory, of `bytes` bytes (a power of two, which it is a multiple of). None: `flow` is the
// fault, for there is no such block, it has ended, or the bytes lie outside. `warp` runs `op`.
struct ClusterPlace {
  Block* block = nullptr;
  Address offset = 0;
};
std::optional<ClusterPlace> place_in_cluster(Warp& warp, const Op& op, std::uint32_t lane, Address address, std::uint32_t bytes, Flow& flow);
// Other blocks may go on to touch so much of the block's memory until they meet again.
void note_reached(Block& block, Address first, std::uint64_t bytes);

// Whether an access by addresses of the window, some of which are no offsets of the block's own memory, may mean other blocks' memory.
bool reaches_others(const Warp& warp, const Op& op, const Request& request);
// The request of each block's memory by itself, with offsets for addresses: perform(Request&) gives a Flow.
template <class Perform>
Flow for_owners(Warp& warp, const Op& op, const Request& request, Perform perform) {
  Flow flow = Flow::next;
  for (std::uint32_t rest = request.mask; rest != 0;) {
    Request part = request;
    part.mask = 0;
    for_lanes(rest, [&](std::uint32_t i) {
      if (flow != Flow::next) return;
      const auto place = place_in_cluster(warp, op, i, request.addresses[i], request.bytes, flow);
      if (!place || (part.owner != nullptr && part.owner != place->block)) return;
      part.owner = place->block;
      part.addresses[i] = place->offset;
      part.mask |= 1u << i;
    });
    if (flow != Flow::next) return flow;
    rest &= ~part.mask;
    for (std::uint32_t i = 0; i < 32; ++i)
      if ((part.mask >> i & 1) == 0) part.addresses[i] = 0;
    if (flow = perform(part); flow != Flow::next) return flow;
  }
  return Flow::next;
}

// Threads of the warp end, and perhaps their block. For the race detector the block's end is a write to all that others reached into: they are to be over by then.
void leave_cluster(Warp& warp, std::uint32_t mask);

// barrier.cluster.arrive and .wait (no operands), mapa and getctarank (decode_mapa).
Handlers select_cluster(const ptx::Instruction& instruction);

}  // namespace kforge::emulator
