// Which lanes of a warp run next, and how a warp that goes round in circles is told from a busy one.
//
// Inside a warp the group in the deepest frame with the lowest pc runs; it stops where another group waits (`stop_pc`) and
// the two go on as one. A group that spins (below), or that has run kRotation instructions while others are ready, lets the
// others run. A warp runs for a quantum.
//
// A spin is a return to the same pc, at a backward jump, with bit-equal registers and nothing stored in between: as memory
// did not change either, it will happen again for ever unless somebody else stores. Registers are compared by a 64-bit
// hash, against a snapshot that is renewed at powers of two, so that loops of any period are found (Brent).
#include "emulator/run_warp.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "emulator/handlers.h"
#include "emulator/segment_code.h"
#include "emulator/sleep.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {
namespace {

constexpr std::uint64_t kSlice = 256;             // until a group is watched, when others of its warp are ready
constexpr std::uint64_t kPause = 4096;            // and until it is again, when it was not found to spin: hashing costs as much as running
constexpr std::uint64_t kRotation = 50'000;
constexpr std::uint32_t kComparisons = 16;        // of register hashes per visit

std::uint32_t count_lanes(std::uint32_t mask) {
  mask -= mask >> 1 & 0x55555555u;
  mask = (mask & 0x33333333u) + (mask >> 2 & 0x33333333u);
  return ((mask + (mask >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

// ---- groups --------------------------------------------------------------------------------------------------------

void park_active(Warp& w) {
  if (w.active == 0) return;
  Group group;
  group.frame = w.frame;
  group.pc = w.pc;
  group.mask = w.active;
  w.groups.push_back(group);
  w.active = 0;
}

void merge_groups(Warp& w) {
  std::vector<Group>& groups = w.groups;
  for (Group& group : groups) group.mask &= w.live;
  std::erase_if(groups, [](const Group& group) { return group.mask == 0; });
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t k = groups.size(); k-- > i + 1;) {
      if (groups[k].pc != groups[i].pc || groups[k].frame != groups[i].frame || groups[k].wait != groups[i].wait || groups[i].wait == Wait::barrier) continue;
      groups[i].mask |= groups[k].mask;
      groups[i].sync_mask |= groups[k].sync_mask;
      groups[i].spun_at = ~std::uint64_t{0};
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
  for (Group& group : groups)
    if (group.wait == Wait::warp_sync && (group.sync_mask & w.live & ~group.mask) == 0) group.wait = Wait::none, group.sync_mask = 0;
}

bool is_ready(const Warp& w, const Group& group) { return group.wait == Wait::none && group.spun_at != w.launch->stores; }
bool runs_before(const Group& a, const Group& b) {
  return a.frame->depth != b.frame->depth ? a.frame->depth > b.frame->depth : a.pc < b.pc;
}

// Lanes that wait for others of their warp, and no lane of it can move: the mask names lanes that never come.
bool force_warp_sync(Warp& w) {
  const bool all = std::all_of(w.groups.begin(), w.groups.end(), [](const Group& g) { return g.wait != Wait::none; });
  const auto stuck = std::find_if(w.groups.begin(), w.groups.end(), [](const Group& g) { return g.wait == Wait::warp_sync; });
  if (!all || stuck == w.groups.end()) return false;
  // A lane at a block barrier may still be released by other warps only if this warp arrives there as a whole: it will not.
  const Op& op = w.launch->kernel->code[stuck->pc];
  const std::uint32_t missing = stuck->sync_mask & w.live & ~stuck->mask;
  report(w, op, stuck->mask, "safety.barriers", "warp-sync-missing-lanes", [&](evidence::Violation& v) {
    v.message = fmt::format("a warp-synchronous operation names lanes 0x{:08x} that wait elsewhere and never reach it", missing);
    v.measured = fmt::format("lanes 0x{:08x} of mask 0x{:08x} arrived", stuck->mask, stuck->sync_mask);
    v.required = "every live lane that the mask names executes the operation";
  });
  stuck->wait = Wait::none;
  w.forced_sync = true;
  return true;
}

void run_group(Warp& w, const Group& group) {
  w.frame = group.frame;
  w.bases[static_cast<std::size_t>(Bank::frame)] = group.frame->registers.data();
  w.pc = group.pc;
  w.active = group.mask;
  w.stop_pc = kNoPc;
}

// Makes a group the running one. False: none is ready.
bool pick(Warp& w, bool rotate) {
  if (w.active == 0 && w.groups.size() == 1 && w.groups[0].wait != Wait::warp_sync) {   // a warp at a barrier, or past it
    Group& only = w.groups[0];
    only.mask &= w.live;
    if (only.mask != 0 && !is_ready(w, only)) return false;
    if (only.mask != 0) run_group(w, only);
    w.groups.clear();
    return w.active != 0;
  }
  park_active(w);
  merge_groups(w);
  Group* best = nullptr;
  const auto choose = [&] {
    for (Group& group : w.groups) {
      if (!is_ready(w, group)) continue;
      if (best == nullptr || (rotate ? group.last_run < best->last_run : runs_before(group, *best))) best = &group;
    }
  };
  choose();
  if (best == nullptr && force_warp_sync(w)) choose();
  if (best == nullptr) return false;
  const Group chosen = *best;
  w.groups.erase(w.groups.begin() + (best - w.groups.data()));
  run_group(w, chosen);
  for (const Group& group : w.groups)
    if (group.frame == w.frame && group.wait != Wait::barrier && group.pc > w.pc) w.stop_pc = std::min(w.stop_pc, group.pc);
  return true;
}

// ---- spinning ------------------------------------------------------------------------------------------------------

void start_watch(Warp& w) {
  w.watching = true;
  w.watch_count = 0;
  if (w.watch_stores == w.launch->stores) return;   // a snapshot of an earlier visit still counts
  w.watch_pc = kNoPc;
}

// Of all that decides how the warp goes on: a loop that returns to one state in a function may count in its caller.
std::uint64_t state_of(const Warp& w) {
  std::uint64_t hash = w.active;
  for (const Frame* frame = w.frame; frame != nullptr; frame = frame->parent) hash = XXH3_64bits_withSeed(frame->registers.data(), frame->registers.size(), hash + frame->return_pc);
  return hash;
}

// At a backward jump. True: the same state as before.
bool came_back(Warp& w) {
  if (w.watch_pc != kNoPc && w.watch_pc != w.pc) return false;
  const std::uint64_t hash = state_of(w);
  const bool comparable = w.watch_pc == w.pc && w.watch_stores == w.launch->stores;
  if (comparable && hash == w.watch_hash) return true;
  if (!comparable || ++w.watch_count >= w.watch_next) {
    w.watch_next = comparable ? 2 * w.watch_next : 1;
    w.watch_pc = w.pc;
    w.watch_hash = hash;
    w.watch_stores = w.launch->stores;
    w.watch_count = comparable ? w.watch_count : 0;
  }
  if (w.watch_count >= kComparisons) w.watching = false;
  return false;
}

// ---- one warp ------------------------------------------------------------------------------------------------------

// Counts for the first `count` ops of a segment that was left early.
template <bool kProfile>
std::uint64_t count_partly(Launch& launch, const Segment& segment, std::uint32_t count, std::uint32_t active) {
  std::uint64_t lanes = 0;
  for (std::uint32_t pc = segment.first; pc < segment.first + count; ++pc) {
    const std::uint32_t unguarded = launch.kernel->code[pc].guard == kNoSlot ? active : 0;
    lanes += unguarded;
    if constexpr (kProfile) {
      ++launch.ops[pc].executions;
      launch.ops[pc].lanes += unguarded;
      launch.ops[pc].active_lanes += active;
    }
  }
  return lanes;
}

// Runs a segment; returns the flow of its last op, and adds what was executed.
template <bool kProfile>
Flow run_segment(Warp& w, const Segment& segment, std::uint64_t& used, std::uint64_t& threads, std::uint32_t& pc) {
  Launch& launch = *w.launch;
  SegmentRun run{0, launch.ops.data()};
  const std::uint32_t active = count_lanes(w.active);   // before the last op, which may change it
  const std::uint64_t result = segment.run(&w, &run);
  const auto count = static_cast<std::uint32_t>(result >> 8);
  used += count;
  pc = segment.first + count - 1;
  if (count == segment.end - segment.first) {
    threads += std::uint64_t{active} * segment.unguarded + run.guarded_lanes;
    if constexpr (kProfile) ++launch.segment_runs[segment.index];
  } else {
    threads += count_partly<kProfile>(launch, segment, count, active) + run.guarded_lanes;
  }
  return static_cast<Flow>(result & 0xff);
}

template <Variant kVariant>
Outcome run_warp(Warp& w, std::uint64_t quantum) {
  Launch& launch = *w.launch;
  const Op* code = launch.kernel->code.data();
  constexpr std::size_t kIndex = static_cast<std::size_t>(kVariant);
  std::uint64_t threads = 0, used = 0, slice = 0, watch_from = kSlice;
  const std::uint64_t stores = launch.stores;
  const auto leave = [&](Outcome outcome) {
    launch.thread_instructions += threads;
    launch.clock += used;
    w.watching = false;
    w.visited = outcome == Outcome::spins || (outcome == Outcome::quantum && launch.stores == stores);   // who stores does not spin
    return outcome;
  };
  const auto nothing_ready = [&] {
    if (w.done()) return Outcome::done;
    const bool spins = std::any_of(w.groups.begin(), w.groups.end(), [](const Group& g) { return g.wait == Wait::none; });
    return spins ? Outcome::spins : Outcome::blocked;
  };
  if (w.active == 0 && !pick(w, false)) return nothing_ready();
  if (w.visited) start_watch(w);
  for (;;) {
    std::uint32_t pc = w.pc;
    Flow flow = Flow::next;
    // Whole runs of a segment are counted with 32 lanes each in a profile.
    const bool whole = w.active == kFullMask || (!Observes<kVariant>::profile && w.active == w.live);
    const bool plain = whole && !(Observes<kVariant>::safety && w.tainted);
    if (const Segment* segment = plain ? launch.segments->at(pc) : nullptr; segment != nullptr && segment->end <= w.stop_pc) {
      flow = run_segment<Observes<kVariant>::profile>(w, *segment, used, threads, pc);
    } else {
      const Op& op = code[pc];
      std::uint32_t mask = w.active;
      if (op.guard != kNoSlot) mask &= predicate(w.bases[0] + op.guard) ^ op.guard_flip;
      const std::uint32_t lanes = count_lanes(mask);
      if constexpr (Observes<kVariant>::profile) {
        ++launch.ops[pc].executions;
        launch.ops[pc].lanes += lanes;
        launch.ops[pc].active_lanes += op.guard == kNoSlot ? lanes : static_cast<std::uint32_t>(std::popcount(w.active));
      }
      threads += lanes;
      ++used;
      if (Observes<kVariant>::safety && w.tainted) [[unlikely]] flow = run_tainted(w, op, mask, op.run[kIndex]);
      else if (mask != 0) flow = op.run[kIndex](w, op, mask);
      if (Observes<kVariant>::safety && mask == 0 && op.watch != kNoSlot) op.run[kIndex](w, op, 0);
    }
    if (flow == Flow::next) [[likely]] {
      ++w.pc;
      if (w.pc < w.stop_pc && used < quantum) continue;
    }
    if (launch.failed()) return leave(Outcome::failed);
    const bool watched = w.watching;
    if (flow == Flow::jump && w.pc <= pc && watched && came_back(w)) {
      park_active(w);
      for (Group& group : w.groups)
        if (group.frame == w.frame && group.pc == w.pc && group.wait == Wait::none) group.spun_at = launch.stores, set_sleep(group, 0);
      w.watch_pc = kNoPc;
      if (!pick(w, false)) return leave(nothing_ready());
      slice = used;
    }
    if (watched && !w.watching) watch_from = used + kPause;
    if (flow == Flow::regroup || w.pc >= w.stop_pc) {
      if (!pick(w, false)) return leave(nothing_ready());
      if (w.groups.empty()) slice = used;
    }
    if (!w.groups.empty()) {
      if (used - slice > kSlice && used > watch_from && !w.watching && flow == Flow::jump) start_watch(w);
      if (used - slice > kRotation) {
        park_active(w);
        w.groups.back().last_run = launch.clock + used;
        if (!pick(w, true)) return leave(nothing_ready());
        w.stop_pc = kNoPc;
        slice = used;
      }
    }
    if (used >= quantum) return leave(Outcome::quantum);
  }
}

}  // namespace

WarpRunner warp_runner(Variant variant) {
  static constexpr WarpRunner kRunners[kVariants] = {&run_warp<Variant::plain>, &run_warp<Variant::safety>, &run_warp<Variant::profile>, &run_warp<Variant::all>};
  return kRunners[static_cast<std::size_t>(variant)];
}

void add_segment_runs(Launch& launch) {
  for (const Segment& segment : launch.segments->segments()) {
    const std::uint64_t runs = std::exchange(launch.segment_runs[segment.index], 0);
    for (std::uint32_t pc = segment.first; launch.profile && pc < segment.end; ++pc) {
      launch.ops[pc].executions += runs;
      launch.ops[pc].lanes += launch.kernel->code[pc].guard == kNoSlot ? 32 * runs : 0;
      launch.ops[pc].active_lanes += 32 * runs;
    }
  }
}

}  // namespace kforge::emulator
