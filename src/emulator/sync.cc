// Block barriers and the gathering of lanes for warp-synchronous operations.
//
// A barrier counts lanes. Without a thread count it waits for every live thread of the block: exited threads are excused, as
// on the hardware. With one, a warp whose live lanes have all arrived counts as 32 threads.
#include <fmt/format.h>

#include "base/counted.h"
#include "emulator/handlers.h"
#include "emulator/sleep.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;

struct BarrierCall {
  std::uint32_t id = 0, threads = 0;
  bool waits = true;
};

BarrierCall read_call(Warp& w, const Op& op, std::uint32_t mask, std::size_t first) {
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(mask));
  BarrierCall call;
  call.id = get<std::uint32_t>(w.at(op.r[first]), lane);
  if ((op.flags & 2) != 0) call.threads = get<std::uint32_t>(w.at(op.r[first + 1]), lane);
  return call;
}

bool is_complete(const Block& block, const Barrier& barrier) {
  if (barrier.arrived == 0) return false;
  if (barrier.expected == 0) return barrier.arrived >= block.live_threads;
  std::uint32_t threads = 0;
  for (std::size_t k = 0; k < block.warps.size(); ++k) {
    const std::uint32_t lanes = barrier.arrived_lanes[k], live = block.warps[k].live;
    if (lanes != 0) threads += (live & ~lanes) == 0 ? 32 : static_cast<std::uint32_t>(std::popcount(lanes));
  }
  return threads >= barrier.expected;
}

void put_reduction(const Group& group, const Barrier& barrier) {
  const Op& op = *group.reduction;
  std::byte* slot = group.frame->registers.data() + op.r[0].offset;
  if (op.source->mods.bool_op == ptx::BoolOp::none) {
    for_lanes(group.mask, [&](std::uint32_t i) { put<std::uint32_t>(slot, i, barrier.red_count); });
    return;
  }
  const bool value = op.source->mods.bool_op == ptx::BoolOp::and_ ? barrier.red_and != 0 : barrier.red_or != 0;
  put_predicate(slot, value ? kFullMask : 0, group.mask);
}

void release(Block& block, std::uint32_t id) {
  Barrier& barrier = block.barriers[id];
  Launch& launch = *block.launch;
  if (launch.safety) {
    if (launch.kernel->barriers != nullptr && barrier.expected == 0) check_skipped_barrier(block, id);
    if (id == 0 && barrier.expected == 0) launch.races->block_barrier(block.races);
    else launch.races->named_barrier_complete(block.races, id, barrier.waiting_lanes);
  }
  for (Warp& warp : block.warps) {
    for (Group& group : warp.groups) {
      if (group.wait != Wait::barrier || group.barrier != id) continue;
      if (group.reduction != nullptr) put_reduction(group, barrier);
      group.wait = Wait::none;
      group.reduction = nullptr;
    }
  }
  if (barrier.expected == 0)
    for (Warp& warp : block.warps) warp.exited_since_barrier = 0;
  barrier.restart();
  block.awaited_barriers &= ~(1u << id);
}

// Lanes of one warp at two barrier instructions: __syncthreads in a branch.
void check_converged(Warp& w, const Op& op, std::uint32_t mask) {
  for (const Group& group : w.groups) {
    if (group.wait != Wait::barrier || group.pc == w.pc + 1 || (group.mask & w.live) == 0) continue;
    report(w, op, mask, "safety.barriers", "barrier-divergence", [&](evidence::Violation& v) {
      const Op& other = w.launch->kernel->code[group.pc - 1];
      const auto lanes = static_cast<unsigned>(std::popcount(mask)), others = static_cast<unsigned>(std::popcount(group.mask));
      v.other = w.launch->where(other.location);
      v.message = fmt::format("{} of the warp {} at this barrier while {} {} at the one at {}", counted(lanes, "lane"), lanes == 1 ? "is" : "are", counted(others, "lane"), others == 1 ? "waits" : "wait", place(*w.launch, other));
      v.measured = "lanes of one warp at different barriers";
      v.required = "all live threads of the block at the same barrier";
    });
  }
}

// A predicated barrier that some lanes of the group do not execute.
void check_guard(Warp& w, const Op& op, std::uint32_t mask) {
  report(w, op, mask, "safety.barriers", "barrier-divergence", [&](evidence::Violation& v) {
    const auto lanes = static_cast<unsigned>(std::popcount(mask)), past = static_cast<unsigned>(std::popcount(w.active & ~mask));
    v.message = fmt::format("{} of the warp {} at this barrier while {} past it: its predicate is not the same for all", counted(lanes, "thread"), lanes == 1 ? "waits" : "wait", past == 1 ? "1 goes" : fmt::format("{} go", past));
    v.measured = "a predicate that differs within a warp";
    v.required = "all live threads of the block at the same barrier";
  });
}

void check_other_warps(Warp& w, const Op& op, std::uint32_t mask, Barrier& barrier) {
  if (barrier.first_pc == kNoPc) barrier.first_pc = w.pc;
  if (barrier.first_pc == w.pc) return;
  const Op& other = w.launch->kernel->code[barrier.first_pc];
  if (other.location == op.location) return;   // one barrier of the source that the compiler doubled
  evidence::Violation* v = w.launch->violations->add("safety.barriers", "barrier-differs", w.launch->kernel->info.name, op.location);
  if (v == nullptr) return;
  v->advice = true;
  v->where = w.launch->where(op.location);
  v->other = w.launch->where(other.location);
  v->block = w.block->index;
  v->thread = thread_index(w.launch->block_size, w.index * 32 + static_cast<std::uint32_t>(std::countr_zero(mask)));
  v->message = fmt::format("warps of one block meet at different barriers: this one and the one at {}", place(*w.launch, other));
  v->measured = "warps at different barriers";
  v->required = "all live threads of the block at the same barrier";
}

template <Variant kVariant>
Flow arrive(Warp& w, const Op& op, std::uint32_t mask, const BarrierCall& call, const Op* reduction) {
  Block& block = *w.block;
  if (call.id >= block.barriers.size()) return stop(w, op, mask, LaunchStatus::illegal_instruction, fmt::format("barrier {} of 16", call.id));
  Barrier& barrier = block.barriers[call.id];
  if (barrier.arrived_lanes.empty()) {
    barrier.arrived_lanes.assign(block.warps.size(), 0);
    barrier.waiting_lanes.assign(block.warps.size(), 0);
    barrier.expected = call.threads;
    block.awaited_barriers |= 1u << call.id;
  }
  if constexpr (Observes<kVariant>::safety) {
    if (call.waits) check_converged(w, op, mask);
    if (call.threads == 0 && mask != w.active) check_guard(w, op, mask);
    if (call.threads == 0) check_other_warps(w, op, mask, barrier);
    if (call.id != 0 || call.threads != 0) w.launch->races->barrier_arrive(block.races, call.id, w.index, mask);
  }
  barrier.arrived += static_cast<std::uint32_t>(std::popcount(mask));
  barrier.arrived_lanes[w.index] |= mask;
  if (!call.waits) {
    complete_barriers(block);
    return Flow::next;
  }
  barrier.waiting_lanes[w.index] |= mask;
  block_group(w, mask, Wait::barrier, 0, static_cast<std::uint8_t>(call.id));
  w.groups.back().reduction = reduction;
  complete_barriers(block);
  return Flow::regroup;
}

template <Variant kVariant>
Flow run_bar_sync(Warp& w, const Op& op, std::uint32_t mask) { return arrive<kVariant>(w, op, mask, read_call(w, op, mask, 0), nullptr); }

template <Variant kVariant>
Flow run_bar_arrive(Warp& w, const Op& op, std::uint32_t mask) {
  BarrierCall call = read_call(w, op, mask, 0);
  call.waits = false;
  return arrive<kVariant>(w, op, mask, call, nullptr);
}

// r: d, id, (count,) p. flags bit 0: p negated.
template <Variant kVariant>
Flow run_bar_red(Warp& w, const Op& op, std::uint32_t mask) {
  const BarrierCall call = read_call(w, op, mask, 1);
  if (call.id >= w.block->barriers.size()) return arrive<kVariant>(w, op, mask, call, &op);
  const std::uint32_t p = predicate(w.at(op.r[(op.flags & 2) != 0 ? 3 : 2])) ^ ((op.flags & 1) != 0 ? kFullMask : 0);
  Barrier& barrier = w.block->barriers[call.id];
  barrier.red_and &= static_cast<std::uint32_t>((p & mask) == mask);
  barrier.red_or |= static_cast<std::uint32_t>((p & mask) != 0);
  barrier.red_count += static_cast<std::uint32_t>(std::popcount(p & mask));
  return arrive<kVariant>(w, op, mask, call, &op);
}

template <Variant kVariant>
Flow run_warp_sync(Warp& w, const Op& op, std::uint32_t mask) {
  if (!gather_lanes(w, op, mask, w.at(op.r[0]))) return Flow::regroup;
  if constexpr (Observes<kVariant>::safety) {
    for (std::uint32_t rest = mask; rest != 0;) {
      const std::uint32_t named = get<std::uint32_t>(w.at(op.r[0]), static_cast<std::uint32_t>(std::countr_zero(rest)));
      w.launch->races->warp_sync(w.block->races, w.index, named);
      const std::uint32_t done = rest & named;
      rest &= done == 0 ? rest - 1 : ~done;
    }
  }
  return Flow::next;
}

}  // namespace

void complete_barriers(Block& block) {
  for (std::uint32_t rest = block.awaited_barriers; rest != 0; rest &= rest - 1) {
    const auto id = static_cast<std::uint32_t>(std::countr_zero(rest));
    if (is_complete(block, block.barriers[id])) release(block, id);
  }
}

void block_group(Warp& w, std::uint32_t mask, Wait wait, std::uint32_t sync_mask, std::uint8_t barrier) {
  if (const std::uint32_t rest = w.active & ~mask; rest != 0) {
    Group& others = w.groups.emplace_back();
    others.frame = w.frame;
    others.pc = w.pc + 1;
    others.mask = rest;
  }
  Group& group = w.groups.emplace_back();   // filled where it lies: a copy would wait for the stores that make it
  group.frame = w.frame;
  group.pc = wait == Wait::barrier ? w.pc + 1 : w.pc;
  group.mask = mask;
  group.wait = wait;
  group.sync_mask = sync_mask;
  group.barrier = barrier;
  w.active = 0;
}

Flow sleep_group(Warp& w, std::uint32_t mask, std::uint32_t nanoseconds) {
  block_group(w, mask, Wait::none, 0, 0);
  Group& group = w.groups.back();
  group.pc = w.pc + 1;
  group.spun_at = w.launch->stores;
  set_sleep(group, nanoseconds);
  return Flow::regroup;
}

bool gather_lanes(Warp& w, const Op& op, std::uint32_t mask, const std::byte* member_masks) {
  std::uint32_t named = get<std::uint32_t>(member_masks, static_cast<std::uint32_t>(std::countr_zero(mask)));
  std::uint32_t different = 0;
  for (std::uint32_t i = 0; i < 32; ++i) different |= get<std::uint32_t>(member_masks, i) ^ named;
  std::uint32_t outside = mask & ~named;   // lanes that do not name themselves
  if (different != 0) {
    outside = 0;
    for_lanes(mask, [&](std::uint32_t i) {
      const std::uint32_t members = get<std::uint32_t>(member_masks, i);
      named |= members;
      if ((members >> i & 1) == 0) outside |= 1u << i;
    });
  }
  if (outside != 0)
    report(w, op, outside, "safety.barriers", "mask-without-caller", [&](evidence::Violation& v) {
      const std::uint32_t members = get<std::uint32_t>(member_masks, static_cast<std::uint32_t>(std::countr_zero(outside)));
      v.message = fmt::format("lane {} executes a warp-synchronous operation whose mask 0x{:08x} does not name it", std::countr_zero(outside), members);
      v.measured = fmt::format("mask 0x{:08x}", members);
      v.required = "a mask that names every calling lane";
    });
  if ((named & w.live & ~mask) == 0 || w.forced_sync) {
    w.forced_sync = false;
    return true;
  }
  block_group(w, mask, Wait::warp_sync, named, 0);
  return false;
}

Handlers select_sync(const ptx::Instruction&, Exec exec) {
  switch (exec) {
    case Exec::bar_sync: return for_variants([](auto v) -> Handler { return &run_bar_sync<decltype(v)::value>; });
    case Exec::bar_arrive: return for_variants([](auto v) -> Handler { return &run_bar_arrive<decltype(v)::value>; });
    case Exec::bar_red: return for_variants([](auto v) -> Handler { return &run_bar_red<decltype(v)::value>; });
    case Exec::bar_warp_sync: return for_variants([](auto v) -> Handler { return &run_warp_sync<decltype(v)::value>; });
    default: return Handlers{};
  }
}

}  // namespace kforge::emulator
