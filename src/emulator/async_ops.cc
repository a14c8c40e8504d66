// cp.async (PTX manual, 9.7.9.25.3): copies from global to shared memory that are done as late as the program allows, when
// the issuing threads wait for them. Until then the destination counts as unwritten, so that a missing wait is seen.
#include <fmt/format.h>

#include "emulator/access.h"
#include "emulator/handlers.h"
#include "emulator/mbarrier_ops.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {
namespace {

// r[0] destination + immediate, r[1] source + target, r[2] source size or predicate that ignores the source.
constexpr std::uint8_t kWideDestination = 1, kWideSource = 2, kSourceSize = 4, kIgnore = 8, kIgnoreNegated = 16;

LaneAddresses addresses_of(const Warp& w, Ref ref, bool wide, std::int64_t offset) {
  LaneAddresses result;
  for (std::uint32_t i = 0; i < 32; ++i)
    result[i] = wide ? get<std::uint64_t>(w.at(ref), i) + static_cast<std::uint64_t>(offset)
                     : (get<std::uint32_t>(w.at(ref), i) + static_cast<std::uint64_t>(offset)) & 0xffffffffu;
  return result;
}

std::uint32_t source_bytes(const Warp& w, const Op& op, std::uint32_t lane) {
  if ((op.flags & kIgnore) != 0) {
    const bool ignore = ((predicate(w.at(op.r[2])) >> lane & 1) != 0) != ((op.flags & kIgnoreNegated) != 0);
    return ignore ? 0 : op.bytes;
  }
  return (op.flags & kSourceSize) != 0 ? std::min<std::uint32_t>(op.bytes, get<std::uint32_t>(w.at(op.r[2]), lane)) : op.bytes;
}

RaceAccess race_access(Warp& w, const Op& op, const LaneAddresses& addresses, std::uint32_t mask, Allocation* allocation, AccessKind kind) {
  RaceAccess access;
  access.block = w.block->races;
  access.warp = w.index;
  access.mask = mask;
  access.bytes = op.bytes;
  access.addresses = &addresses;
  access.allocation = allocation;
  access.memory = allocation != nullptr ? allocation->data : w.block->shared.data();
  access.location = op.location;
  access.kind = kind;
  return access;
}

// The allocation of the address: mostly the one of the lane before.
Allocation* find_near(Memory& memory, Allocation* known, Address address) {
  return known != nullptr && address - known->base < known->size ? known : memory.find(address);
}

Flow check_source(Warp& w, const Op& op, const PendingCopy& copy, Request& request) {
  Allocation* allocation = nullptr;
  for (std::uint32_t rest = request.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    allocation = find_near(*w.launch->memory, allocation, copy.from[lane]);
    const std::uint64_t end = allocation == nullptr ? 0 : allocation->base + allocation->size;
    if (allocation == nullptr || end - copy.from[lane] < copy.bytes[lane]) return fault_global(w, op, request, 1u << lane);
    if (w.launch->safety && copy.bytes[lane] == op.bytes) w.launch->races->access(race_access(w, op, copy.from, 1u << lane, allocation, AccessKind::load));
  }
  return Flow::next;
}

Flow run_copy(Warp& w, const Op& op, std::uint32_t mask) {
  PendingCopy copy;
  copy.op = &op;
  copy.mask = mask;
  copy.to = addresses_of(w, op.r[0], (op.flags & kWideDestination) != 0, op.immediate);
  copy.from = addresses_of(w, op.r[1], (op.flags & kWideSource) != 0, static_cast<std::int32_t>(op.target));
  copy.group = w.async_groups;
  Request read{copy.from, 0, op.bytes, ptx::Space::global, Direction::load};
  for_lanes(mask, [&](std::uint32_t i) {
    copy.bytes[i] = source_bytes(w, op, i);
    if (copy.bytes[i] != 0) read.mask |= 1u << i;
  });
  Request write{copy.to, mask, op.bytes, ptx::Space::shared, Direction::store};
  const std::uint32_t inside = lanes_inside(copy.to, mask, {nullptr, 0, w.launch->shared_bytes, nullptr}, op.bytes);
  if (inside != mask) return fault_window(w, op, write, mask & ~inside, "shared", w.launch->shared_bytes);
  if (const std::uint32_t bad = lanes_misaligned(copy.to, mask, op.bytes); bad != 0) return fault_misaligned(w, op, write, bad);
  if (const std::uint32_t bad = lanes_misaligned(copy.from, read.mask, op.bytes); bad != 0) return fault_misaligned(w, op, read, bad);
  if (const Flow flow = check_source(w, op, copy, read); flow != Flow::next) return flow;
  if (w.launch->profile) {
    if (read.mask != 0) count_global(w, op, read);
    count_shared(w, op, write);
  }
  // From now on the copy may write: what others still read here unordered is a race, as is what they read at its end.
  if (w.launch->safety) w.launch->races->access(race_access(w, op, copy.to, mask, nullptr, AccessKind::store));
  if (w.launch->safety)
    for_lanes(mask, [&](std::uint32_t i) { w.block->shared_shadow.mark_range(copy.to[i], op.bytes, false); });
  w.pending_copies.push_back(copy);
  return Flow::next;
}

// Lanes of the copy that have it done now.
void complete(Warp& w, PendingCopy& copy, std::uint32_t lanes) {
  if (lanes == 0) return;
  if (w.launch->safety) w.launch->races->access(race_access(w, *copy.op, copy.to, lanes, nullptr, AccessKind::store));
  ++w.launch->stores;
  Allocation* known = nullptr;
  for_lanes(lanes, [&](std::uint32_t i) {
    std::byte* to = w.block->shared.data() + copy.to[i];
    std::memset(to, 0, copy.op->bytes);
    Allocation* allocation = copy.bytes[i] == 0 ? nullptr : find_near(*w.launch->memory, known, copy.from[i]);
    if (allocation != nullptr) known = allocation;
    if (allocation != nullptr) std::memcpy(to, allocation->data + (copy.from[i] - allocation->base), copy.bytes[i]);
    if (!w.launch->safety) return;
    if (allocation != nullptr && copy.bytes[i] == copy.op->bytes)   // the source is read until now
      w.launch->races->access(race_access(w, *copy.op, copy.from, 1u << i, allocation, AccessKind::load));
    land_copy_shadow(w, copy, i, allocation);
  });
  copy.mask &= ~lanes;
}

Flow run_commit(Warp& w, const Op&, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t i) { ++w.async_groups[i]; });
  return Flow::next;
}

// immediate: groups that may stay in flight; -1: none, copies of no group included.
Flow run_wait(Warp& w, const Op& op, std::uint32_t mask) {
  for (PendingCopy& copy : w.pending_copies) {
    std::uint32_t lanes = 0;
    for_lanes(copy.mask & mask, [&](std::uint32_t i) {
      const bool due = op.immediate < 0 || copy.group[i] + static_cast<std::uint64_t>(op.immediate) < w.async_groups[i];
      lanes |= static_cast<std::uint32_t>(due) << i;
    });
    complete(w, copy, lanes);
  }
  std::erase_if(w.pending_copies, [](const PendingCopy& copy) { return copy.mask == 0; });
  return Flow::next;
}

}  // namespace

void land_copies(Warp& w, std::uint32_t mask) {
  for (PendingCopy& copy : w.pending_copies) complete(w, copy, copy.mask & mask);
  std::erase_if(w.pending_copies, [](const PendingCopy& copy) { return copy.mask == 0; });
}

Handler select_async(ptx::Exec exec) {
  switch (exec) {
    case ptx::Exec::cp_async: return &run_copy;
    case ptx::Exec::cp_async_commit: return &run_commit;
    case ptx::Exec::cp_async_wait: return &run_wait;
    default: return nullptr;
  }
}

}  // namespace kforge::emulator
