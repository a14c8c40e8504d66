#include "emulator/barrier_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "emulator/handlers.h"
#include "emulator/registers.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;

// ---- while the warp runs -------------------------------------------------------------------------------------------

void forget(BarrierState& state, const BarrierMap& map, const BarrierScope& scope, std::uint32_t lanes) {
  for (const std::uint32_t inner : scope.inner)
    for_lanes(lanes, [&](std::uint32_t i) { state.counts[inner][i] = 0; });
  for (const std::uint32_t guard : scope.guards)
    for (std::uint32_t k = 0; k < map.guards[guard].sides; ++k) state.sides[map.guards[guard].first_side + k] &= ~lanes;
}

// Side k of a bra: {taken, fall-through}; of a brx: the targets, then fall-through.
void decide(Warp& w, const Op& op, const BarrierGuard& guard, std::uint32_t mask) {
  std::uint32_t* sides = w.barriers.sides.data() + guard.first_side;
  for (std::uint32_t k = 0; k < guard.sides; ++k) sides[k] &= ~w.active;
  if (family(*op.source) == Exec::bra) {
    sides[0] |= mask;
  } else {
    for_lanes(mask, [&](std::uint32_t i) {
      const auto index = get<std::uint32_t>(w.at(op.r[0]), i);
      if (index < guard.sides) sides[index] |= 1u << i;
    });
  }
  if (w.active != mask) sides[guard.sides - 1] |= w.active & ~mask;
}

template <Variant kVariant>
Flow run_watched(Warp& w, const Op& op, std::uint32_t mask) {
  const BarrierMap& map = *w.launch->kernel->barriers;
  const BarrierWatchPoint& point = map.points[op.watch];
  if (point.counted != kNoSlot) {
    for_lanes(w.active, [&](std::uint32_t i) { ++w.barriers.counts[point.counted][i]; });
    forget(w.barriers, map, map.scopes[point.counted], w.active);
  }
  if (point.guard != kNoSlot) decide(w, op, map.guards[point.guard], mask);
  return mask == 0 ? Flow::next : point.run[static_cast<std::size_t>(kVariant)](w, op, mask);
}

// ---- when a barrier completes --------------------------------------------------------------------------------------

// Lanes of a warp that stopped at one op, in the barrier's frame or in one that called it.
struct Arrival {
  Warp* warp = nullptr;
  std::uint32_t lanes = 0;
  std::vector<std::uint32_t> pcs;   // of the barrier, then of the calls that led to it
};

std::vector<Arrival> arrivals_of(Block& block, std::uint32_t id) {
  std::vector<Arrival> result;
  for (Warp& w : block.warps) {
    for (const Group& group : w.groups) {
      if (group.wait != Wait::barrier || group.barrier != id) continue;
      Arrival& arrival = result.emplace_back();
      arrival.warp = &w;
      arrival.lanes = group.mask & w.live;
      arrival.pcs.push_back(group.pc - 1);
      for (const Frame* frame = group.frame; frame->parent != nullptr; frame = frame->parent) arrival.pcs.push_back(frame->return_pc - 1);
    }
  }
  std::erase_if(result, [](const Arrival& arrival) { return arrival.lanes == 0; });
  return result;
}

std::uint32_t lowest(std::uint32_t lanes) { return static_cast<std::uint32_t>(std::countr_zero(lanes)); }

struct Skipped {
  std::uint32_t threads = 0;
  const Op* because = nullptr;
};

// The lanes of `w` that went past the barrier while lane `lane` of `at` came to it. `paired`: guards that chose another barrier for them.
void find_skipping(const Warp& at, std::uint32_t lane, const BarrierSpot& spot, const BarrierSpot* paired, const Warp& w, std::uint32_t lanes, Skipped& skipped) {
  const BarrierMap& map = *at.launch->kernel->barriers;
  const auto add = [&](std::uint32_t found, std::uint32_t pc) {
    if (found == 0) return;
    skipped.threads += static_cast<std::uint32_t>(std::popcount(found));
    if (skipped.because == nullptr) skipped.because = &at.launch->kernel->code[pc];
    lanes &= ~found;
  };
  const auto chooses = [&](std::uint32_t guard) {
    if (paired == nullptr) return false;
    for (const auto& level : paired->levels)
      for (const GuardUse& use : level.uses)
        if (use.guard == guard) return true;
    return false;
  };
  for (const auto& level : spot.levels) {
    std::uint32_t ahead = 0, here = 0;
    const std::uint32_t count = at.barriers.counts[level.scope][lane];
    for_lanes(lanes, [&](std::uint32_t i) {
      const std::uint32_t other = w.barriers.counts[level.scope][i];
      ahead |= static_cast<std::uint32_t>(other > count) << i;
      here |= static_cast<std::uint32_t>(other == count) << i;
    });
    add(ahead, map.scopes[level.scope].header);
    lanes &= here;
    for (const GuardUse& use : level.uses) {
      if (chooses(use.guard)) continue;
      std::uint32_t found = 0;
      for (std::uint32_t k = 0; k < map.guards[use.guard].sides; ++k)
        if ((use.skip >> k & 1) != 0) found |= w.barriers.sides[map.guards[use.guard].first_side + k];
      add(found & lanes, map.guards[use.guard].pc);
    }
    if (lanes == 0) return;
  }
}

// Lanes at the same barrier as `lane` of `at`, but in another iteration of a loop around it.
std::uint32_t elsewhere(const Warp& at, std::uint32_t lane, const BarrierSpot& spot, const Warp& w, std::uint32_t lanes) {
  std::uint32_t found = 0;
  for (const auto& level : spot.levels) {
    if (!at.launch->kernel->barriers->scopes[level.scope].is_loop) continue;
    const std::uint32_t count = at.barriers.counts[level.scope][lane];
    for_lanes(lanes, [&](std::uint32_t i) { found |= static_cast<std::uint32_t>(w.barriers.counts[level.scope][i] != count) << i; });
  }
  return found;
}

void report_skipped(Warp& at, std::uint32_t lanes, std::uint32_t pc, std::uint32_t waiting, const Skipped& skipped) {
  const Op& op = at.launch->kernel->code[pc];
  report(at, op, lanes, "safety.barriers", "barrier-divergence", [&](evidence::Violation& v) {
    v.other = at.launch->where(skipped.because->location);
    v.message = fmt::format("{} {} at this barrier while {} went past it: the condition at {} is not the same for all", counted(waiting, "thread"), waiting == 1 ? "waits" : "wait", counted(skipped.threads, "thread"), place(*at.launch, *skipped.because));
    v.measured = fmt::format("{} at the barrier, {} past it", counted(waiting, "thread"), skipped.threads);
    v.required = "all live threads of the block at the same barrier";
  });
}

const BarrierSpot* find_spot(const BarrierMap& map, std::uint32_t pc) {
  const auto found = map.spots.find(pc);
  return found == map.spots.end() ? nullptr : &found->second;
}

// The first arrival at each pc speaks for it.
void check_spot(Block& block, const std::vector<Arrival>& arrivals, const Arrival& first, std::size_t depth, const BarrierSpot& spot) {
  const BarrierMap& map = *block.launch->kernel->barriers;
  const std::uint32_t lane = lowest(first.lanes), pc = first.pcs[depth];
  std::vector<std::uint32_t> here(block.warps.size(), 0);
  std::uint32_t waiting = 0;
  Skipped skipped, iterations;
  for (const Arrival& other : arrivals) {
    if (other.pcs.size() <= depth) continue;
    if (other.pcs[depth] != pc) {
      if (other.warp != first.warp && depth == 0) find_skipping(*first.warp, lane, spot, find_spot(map, other.pcs[0]), *other.warp, other.lanes, skipped);
      continue;
    }
    waiting += static_cast<std::uint32_t>(std::popcount(other.lanes));
    iterations.threads += static_cast<std::uint32_t>(std::popcount(elsewhere(*first.warp, lane, spot, *other.warp, other.lanes)));
  }
  for (Warp& w : block.warps) {
    std::uint32_t lanes = w.exited_since_barrier;
    for (const Group& group : w.groups)
      if (group.wait != Wait::barrier) lanes |= group.mask & w.live;
    if (lanes != 0) find_skipping(*first.warp, lane, spot, nullptr, w, lanes, skipped);
  }
  if (skipped.threads != 0) return report_skipped(*first.warp, first.lanes, pc, waiting, skipped);
  if (iterations.threads == 0) return;
  iterations.because = &block.launch->kernel->code[map.scopes[spot.levels.back().scope].header];
  report_skipped(*first.warp, first.lanes, pc, waiting - iterations.threads, iterations);
}

// Whether all live threads came to one barrier in the same iteration, and nobody left: the common case, found without a list.
bool all_alike(Block& block, std::uint32_t id) {
  const BarrierMap& map = *block.launch->kernel->barriers;
  const Group* first = nullptr;
  Warp* warp = nullptr;
  const BarrierSpot* spot = nullptr;
  for (Warp& w : block.warps) {
    if (w.exited_since_barrier != 0) return false;
    for (const Group& group : w.groups) {
      if (group.wait != Wait::barrier || group.barrier != id || group.frame->parent != nullptr) return false;
      if (first == nullptr) {
        first = &group;
        warp = &w;
        spot = find_spot(map, group.pc - 1);
      }
      if (group.pc != first->pc) return false;
      if (spot != nullptr && elsewhere(*warp, lowest(first->mask), *spot, w, group.mask) != 0) return false;
    }
  }
  return true;
}

}  // namespace

void install_watch(Op& op) {
  op.run[static_cast<std::size_t>(Variant::safety)] = &run_watched<Variant::safety>;
  op.run[static_cast<std::size_t>(Variant::all)] = &run_watched<Variant::all>;
}

BarrierState new_barrier_state(const BarrierMap& map) {
  return {std::vector<std::array<std::uint32_t, 32>>(map.scopes.size(), std::array<std::uint32_t, 32>{}), std::vector<std::uint32_t>(map.side_count, 0)};
}

void enter_watched_function(Warp& w, std::uint32_t function, std::uint32_t mask) {
  const BarrierMap& map = *w.launch->kernel->barriers;
  if (map.scope_of_function[function] != kNoSlot) forget(w.barriers, map, map.scopes[map.scope_of_function[function]], mask);
}

void check_skipped_barrier(Block& block, std::uint32_t id) {
  if (all_alike(block, id)) return;
  const std::vector<Arrival> arrivals = arrivals_of(block, id);
  const BarrierMap& map = *block.launch->kernel->barriers;
  std::vector<std::uint32_t> seen;
  for (const Arrival& first : arrivals) {
    for (std::size_t depth = 0; depth < first.pcs.size(); ++depth) {
      const std::uint32_t pc = first.pcs[depth];
      if (std::find(seen.begin(), seen.end(), pc) != seen.end()) continue;
      seen.push_back(pc);
      if (const BarrierSpot* spot = find_spot(map, pc); spot != nullptr) check_spot(block, arrivals, first, depth, *spot);
    }
  }
}

}  // namespace kforge::emulator
