// Moves that need more than the operand's lanes: generic addresses, addresses in the frame, clocks.
#include <algorithm>
#include <chrono>

#include "emulator/access.h"
#include "emulator/address_ops.h"
#include "emulator/cluster.h"

namespace kforge::emulator {
namespace {

// d = a + immediate. flags: 1 the operand is 64 bits wide, 2 the result is.
Flow run_offset(Warp& w, const Op& op, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t i) {
    const std::uint64_t a = (op.flags & 1) != 0 ? get<std::uint64_t>(w.at(op.r[1]), i) : get<std::uint32_t>(w.at(op.r[1]), i);
    const std::uint64_t sum = a + static_cast<std::uint64_t>(op.immediate);
    if ((op.flags & 2) != 0) put<std::uint64_t>(w.at(op.r[0]), i, sum);
    else put<std::uint32_t>(w.at(op.r[0]), i, static_cast<std::uint32_t>(sum));
  });
  return Flow::next;
}

// cvta.param: the parameters are an allocation of the launch. immediate: +1 to generic, -1 from it.
Flow run_cvta_param(Warp& w, const Op& op, std::uint32_t mask) {
  const std::uint64_t base = w.launch->parameters->base;
  for_lanes(mask, [&](std::uint32_t i) {
    const std::uint64_t a = get<std::uint64_t>(w.at(op.r[1]), i);
    put<std::uint64_t>(w.at(op.r[0]), i, op.immediate > 0 ? a + base : a - base);
  });
  return Flow::next;
}

// Clocks advance with every warp instruction of the launch; a nanosecond is counted as one clock. A loop that polls a clock goes round once in
// some tens of cycles on a GPU: so much is counted for the reading, and a wait of a millisecond is no million rounds.
constexpr std::uint64_t kClocksPerReading = 32;
// Reading after reading by one warp with nothing stored is waiting: the step doubles with every kReadingsPerStep of them, so that a wait of a
// second is some hundred rounds and is overshot by a quarter at most.
constexpr std::uint32_t kReadingsPerStep = 4, kMostDoublings = 18;
// When another warp comes to wait there, and still nothing was stored, it starts this many steps below: warps that all wait for as long
// each would go through all steps otherwise.
constexpr std::uint32_t kStepsBack = 3;

// The memo holds the launch's clock and stores as the last reading left them, 32 bits of each.
std::uint64_t advance_clock(Launch& launch, AccessMemo& memo) {
  // The clock is brought up to date when a warp leaves: while it is as the last reading left it, the same warp reads again.
  const auto stores = static_cast<std::uint32_t>(launch.stores);
  auto& [clock_then, stores_then] = memo.reading;
  if (stores_then != stores) memo.misses = 0;
  else if (clock_then == static_cast<std::uint32_t>(launch.clock)) ++memo.misses;
  else memo.misses -= std::min(memo.misses, kStepsBack * kReadingsPerStep);
  launch.clock += kClocksPerReading << std::min(memo.misses / kReadingsPerStep, kMostDoublings);
  memo.reading = {static_cast<std::uint32_t>(launch.clock), stores};
  return launch.clock;
}

Flow run_clock(Warp& w, const Op& op, std::uint32_t mask) {
  const std::uint64_t now = advance_clock(*w.launch, w.launch->memos[op.index]);
  const auto special = static_cast<ptx::SpecialRegister>(op.immediate);
  const bool high = special == ptx::SpecialRegister::clock_hi || special == ptx::SpecialRegister::globaltimer_hi;
  std::byte* const to = w.at(op.r[0]);
  if ((op.flags & 2) != 0) for_lanes(mask, [&](std::uint32_t i) { put<std::uint64_t>(to, i, now); });
  else for_lanes(mask, [&, word = static_cast<std::uint32_t>(high ? now >> 32 : now)](std::uint32_t i) { put<std::uint32_t>(to, i, word); });
  return Flow::next;
}

Flow run_isspacep(Warp& w, const Op& op, std::uint32_t mask) {
  const auto wanted = static_cast<ptx::Space>(op.immediate);
  const bool cluster = ptx::instruction_table()[op.source->form].id == "isspacep_cluster";
  std::uint32_t result = 0;
  for_lanes(mask, [&](std::uint32_t i) {
    const Address a = get<std::uint64_t>(w.at(op.r[1]), i);
    ptx::Space space = space_of(a);
    if (space == ptx::Space::global) {
      const Allocation* allocation = w.launch->memory->find(a);
      if (allocation == w.launch->parameters) space = ptx::Space::param;
      else if (allocation != nullptr && allocation->kind == MemoryKind::constant) space = ptx::Space::constant;
    }
    const bool own = space != ptx::Space::shared || cluster || is_own_memory(*w.block, a - kSharedWindow);
    result |= static_cast<std::uint32_t>(space == wanted && own) << i;
  });
  put_predicate(w.at(op.r[0]), result, mask);
  return Flow::next;
}

}  // namespace

Handler offset_handler() { return &run_offset; }
Handler cvta_param_handler() { return &run_cvta_param; }
Handler clock_handler() { return &run_clock; }
Handler isspacep_handler() { return &run_isspacep; }

bool is_clock(ptx::SpecialRegister special) {
  using S = ptx::SpecialRegister;
  return special == S::clock || special == S::clock_hi || special == S::clock64 || special == S::globaltimer ||
         special == S::globaltimer_lo || special == S::globaltimer_hi;
}

}  // namespace kforge::emulator
