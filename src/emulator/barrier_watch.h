// What a warp remembers of the ways to barriers, and the check when one completes: see barrier_map.h.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "emulator/barrier_map.h"

namespace kforge::emulator {

struct Warp;
struct Block;

// Per warp, by scope and by guard's side.
struct BarrierState {
  std::vector<std::array<std::uint32_t, 32>> counts;   // arrivals at the scope's header, by lane
  std::vector<std::uint32_t> sides;                    // lanes whose last decision this was, and is still in force
};

// Makes the op note counts and decisions before its own work.
void install_watch(Op& op);
BarrierState new_barrier_state(const BarrierMap& map);
// Lanes begin a call of the function: nothing that they did in an earlier one counts.
void enter_watched_function(Warp& warp, std::uint32_t function, std::uint32_t mask);

// Reports threads that skipped a barrier at which others wait. Called when barrier `id` is complete, before it is released, and
// when nothing moves any more.
void check_skipped_barrier(Block& block, std::uint32_t id);

}  // namespace kforge::emulator
