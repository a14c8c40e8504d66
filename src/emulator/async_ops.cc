// cp.async (PTX manual, 9.7.9.25.3): copies from global to shared memory that are done as late as the program allows, when
// the issuing threads wait for them. Until then the destination counts as unwritten, so that a missing wait is seen.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "emulator/access.h"
#include "emulator/handlers.h"
#include "emulator/mbarrier_ops.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {
namespace {

// r[0] destination + immediate, r[1] source + target, r[2] source size or predicate that ignores the source.
constexpr std::uint8_t kWideDestination = 1, kWideSource = 2, kSourceSize = 4, kIgnore = 8, kIgnoreNegated = 16;

void addresses_of(const Warp& w, Ref ref, bool wide, std::int64_t signed_offset, LaneAddresses& result) {
  const std::byte* slot = w.at(ref);
  const auto offset = static_cast<std::uint64_t>(signed_offset);
  if (wide)
    for (std::uint32_t i = 0; i < 32; ++i) result[i] = get<std::uint64_t>(slot, i) + offset;
  else
    for (std::uint32_t i = 0; i < 32; ++i) result[i] = (get<std::uint32_t>(slot, i) + offset) & 0xffffffffu;
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

// The allocation that all lanes read `bytes` of; null: there is none.
Allocation* find_common(Memory& memory, const LaneAddresses& from, std::uint32_t bytes) {
  Allocation* allocation = memory.find(from[0]);
  if (allocation == nullptr || allocation->size < bytes || allocation->size >> 62 != 0) return nullptr;
  const std::uint64_t base = allocation->base, limit = allocation->size - bytes;
  std::uint64_t outside = 0;
  for (const Address address : from) outside |= (address - base) | (limit - (address - base));
  return outside >> 63 == 0 ? allocation : nullptr;
}

bool takes_all_bytes(const Warp& w, const Op& op) {
  if ((op.flags & kIgnore) != 0) return false;
  if ((op.flags & kSourceSize) == 0) return true;
  std::uint32_t wrapped = 0;   // its highest bit: some lane takes fewer, or names 2^31 and more
  for (std::uint32_t i = 0; i < 32; ++i) wrapped |= get<std::uint32_t>(w.at(op.r[2]), i) | (get<std::uint32_t>(w.at(op.r[2]), i) - op.bytes);
  return wrapped >> 31 == 0;
}

// A copy of a whole warp, each lane all of its bytes, out of one allocation into the block's memory, where nothing observes. Its bytes
// will be wanted soon.
bool is_regular(const Warp& w, const Op& op, std::uint32_t mask, const PendingCopy& copy) {
  if (mask != kFullMask || w.launch->safety || w.launch->profile || w.launch->shared_bytes < op.bytes || !takes_all_bytes(w, op)) return false;
  const std::uint64_t limit = w.launch->shared_bytes - op.bytes;
  std::uint64_t low_bits = 0, outside = 0;
  for (std::uint32_t i = 0; i < 32; ++i) {
    low_bits |= copy.to[i] | copy.from[i];
    outside |= copy.to[i] | (limit - copy.to[i]);
  }
  if ((low_bits & (op.bytes - 1)) != 0 || outside >> 63 != 0) return false;
  const Allocation* source = find_common(*w.launch->memory, copy.from, op.bytes);
  if (source == nullptr) return false;
  const std::uint32_t lanes_of_line = std::max(1u, 64u / op.bytes);   // where they lie side by side, as they mostly do
  for (std::uint32_t i = 0; i < 32; i += lanes_of_line) __builtin_prefetch(source->data + (copy.from[i] - source->base));
  return true;
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

// What the copy is, once all of it is known to be right.
Flow describe(Warp& w, const Op& op, std::uint32_t mask, PendingCopy& copy) {
  copy.op = &op;
  copy.mask = mask;
  addresses_of(w, op.r[0], (op.flags & kWideDestination) != 0, op.immediate, copy.to);
  addresses_of(w, op.r[1], (op.flags & kWideSource) != 0, static_cast<std::int32_t>(op.target), copy.from);
  copy.group = w.async_groups;
  copy.regular = is_regular(w, op, mask, copy);
  if (copy.regular) {
    copy.bytes.fill(op.bytes);
    return Flow::next;
  }
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
  return Flow::next;
}

Flow run_copy(Warp& w, const Op& op, std::uint32_t mask) {
  const Flow flow = describe(w, op, mask, w.pending_copies.emplace_back());
  if (flow != Flow::next) w.pending_copies.pop_back();
  return flow;
}

// 4, 8 or 16 bytes, so that the copy is one move.
void move_bytes(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  if (bytes == 16) std::memcpy(to, from, 16);
  else if (bytes == 8) std::memcpy(to, from, 8);
  else std::memcpy(to, from, bytes);
}

template <std::uint32_t kBytes>
void move_all(std::byte* to, const std::byte* from, const PendingCopy& copy, Address base) {
  for (std::uint32_t i = 0; i < 32; ++i) std::memcpy(to + copy.to[i], from + (copy.from[i] - base), kBytes);
}

// False: what it reads is no longer there.
bool complete_regular(Warp& w, PendingCopy& copy) {
  const Allocation* source = find_common(*w.launch->memory, copy.from, copy.op->bytes);
  if (source == nullptr) return false;
  std::byte* to = w.block->shared.data();
  if (copy.op->bytes == 16) move_all<16>(to, source->data, copy, source->base);
  else if (copy.op->bytes == 8) move_all<8>(to, source->data, copy, source->base);
  else move_all<4>(to, source->data, copy, source->base);
  ++w.launch->stores;
  copy.mask = 0;
  return true;
}

// Lanes of the copy that have it done now.
void complete(Warp& w, PendingCopy& copy, std::uint32_t lanes) {
  if (lanes == 0 || (copy.regular && lanes == kFullMask && complete_regular(w, copy))) return;
  if (w.launch->safety) w.launch->races->access(race_access(w, *copy.op, copy.to, lanes, nullptr, AccessKind::store));
  ++w.launch->stores;
  Allocation* known = nullptr;
  for_lanes(lanes, [&](std::uint32_t i) {
    std::byte* to = w.block->shared.data() + copy.to[i];
    const bool whole = copy.bytes[i] == copy.op->bytes;
    if (!whole) std::memset(to, 0, copy.op->bytes);
    Allocation* allocation = copy.bytes[i] == 0 ? nullptr : find_near(*w.launch->memory, known, copy.from[i]);
    if (allocation != nullptr) known = allocation;
    if (allocation != nullptr) move_bytes(to, allocation->data + (copy.from[i] - allocation->base), copy.bytes[i]);
    else if (whole) std::memset(to, 0, copy.op->bytes);
    if (!w.launch->safety) return;
    if (allocation != nullptr && copy.bytes[i] == copy.op->bytes)   // the source is read until now
      w.launch->races->access(race_access(w, *copy.op, copy.from, 1u << i, allocation, AccessKind::load));
    land_copy_shadow(w, copy, i, allocation);
  });
  copy.mask &= ~lanes;
}

// A pipeline always has some in flight: moving those is more than passing by the landed ones.
void drop_landed(Warp& w) {
  constexpr std::size_t kMost = 32;
  const auto landed = [](const PendingCopy& copy) { return copy.mask == 0; };
  if (std::all_of(w.pending_copies.begin(), w.pending_copies.end(), landed)) w.pending_copies.clear();   // keeps its room
  else if (w.pending_copies.size() > kMost) std::erase_if(w.pending_copies, landed);
}

using Groups = std::array<std::uint32_t, 32>;

bool are_alike(const Groups& groups) {
  std::uint32_t difference = 0;
  for (const std::uint32_t group : groups) difference |= group ^ groups[0];
  return difference == 0;
}

// Lanes whose copy is of a group with more than `in_flight` committed after it; groups are counted one by one, so that differences do not wrap.
std::uint32_t due_lanes(const Groups& committed, bool committed_alike, const Groups& of_copy, std::uint32_t in_flight) {
  if (committed_alike && are_alike(of_copy)) return committed[0] - of_copy[0] > in_flight ? kFullMask : 0;
  std::uint32_t due = 0;
  for (std::uint32_t i = 0; i < 32; ++i) due |= static_cast<std::uint32_t>(committed[i] - of_copy[i] > in_flight) << i;
  return due;
}

Flow run_commit(Warp& w, const Op&, std::uint32_t mask) {
  if (mask == kFullMask)
    for (std::uint32_t& group : w.async_groups) ++group;
  else
    for_lanes(mask, [&](std::uint32_t i) { ++w.async_groups[i]; });
  return Flow::next;
}

// immediate: groups that may stay in flight; -1: none, copies of no group included.
Flow run_wait(Warp& w, const Op& op, std::uint32_t mask) {
  const auto in_flight = static_cast<std::uint32_t>(std::max<std::int64_t>(op.immediate, 0));
  const bool alike = are_alike(w.async_groups);
  for (PendingCopy& copy : w.pending_copies)
    if (copy.mask != 0) complete(w, copy, copy.mask & mask & (op.immediate < 0 ? kFullMask : due_lanes(w.async_groups, alike, copy.group, in_flight)));
  drop_landed(w);
  return Flow::next;
}

}  // namespace

void land_copies(Warp& w, std::uint32_t mask) {
  for (PendingCopy& copy : w.pending_copies) complete(w, copy, copy.mask & mask);
  drop_landed(w);
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
