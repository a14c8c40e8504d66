// Which conditions decide who comes to a barrier: found once, when a kernel is decoded.
//
// A barrier of the whole block must be reached by all live threads or by none, each time. A branch on which a barrier is
// control dependent (directly or through other branches) is a *guard* of it. A thread that takes a side of a guard from which
// the barrier cannot be reached before the guard's sides join again has *skipped* the barrier. Guards whose sides join only at the end of
// the thread are early returns, and excused (contracts.md, safety.barriers).
//
// "Each time" needs to tell one visit from the next: threads are at the same visit when they are in the same iteration of every loop
// around the barrier. So the executor counts, per lane, the arrivals at loop headers and notes the last decision at each guard,
// forgetting those of an earlier iteration: see barrier_watch.h. Only ops that are marked here cost anything.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "emulator/code.h"
#include "emulator/flow_graph.h"

namespace kforge::emulator {

// The body of a function, or a loop in it: what a count and a decision are relative to.
struct BarrierScope {
  std::uint32_t header = 0;               // pc, for its line
  bool is_loop = false;
  std::vector<std::uint32_t> inner;       // loops inside
  std::vector<std::uint32_t> guards;      // whose decisions hold within one iteration of this scope, or of one inside
};

struct BarrierGuard {
  std::uint32_t pc = 0;
  std::uint32_t first_side = 0, sides = 0;   // its side masks in BarrierState::sides
};

// A guard as one barrier sees it. Bit k of skip: side k does not lead to the barrier.
struct GuardUse { std::uint32_t guard = 0, skip = 0; };

// A barrier, or a call of a function that has one.
struct BarrierSpot {
  struct Level { std::uint32_t scope = 0; std::vector<GuardUse> uses; };
  std::vector<Level> levels;              // scopes around it, outermost (the function) first
};

// What an op does besides its own work. Counting comes first.
struct BarrierWatchPoint {
  std::array<Handler, kVariants> run{};   // the op's own handlers
  std::uint32_t counted = kNoSlot;        // scope: this op stands for its loop's header
  std::uint32_t guard = kNoSlot;
};

struct BarrierMap {
  std::vector<BarrierScope> scopes;
  std::vector<BarrierGuard> guards;
  std::uint32_t side_count = 0;
  std::map<std::uint32_t, BarrierSpot> spots;        // by pc
  std::vector<BarrierWatchPoint> points;             // Op::watch
  std::vector<std::uint32_t> scope_of_function;      // by index in Kernel::functions; kNoSlot: nothing is watched there
};

// Sets kernel.barriers and marks ops when some barrier is in a loop or behind a guard.
void watch_barriers(Kernel& kernel);
// A barrier that waits for every live thread of the block, whatever its number.
bool is_block_barrier(const Op& op);

}  // namespace kforge::emulator
