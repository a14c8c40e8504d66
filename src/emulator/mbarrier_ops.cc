// mbarrier objects (PTX manual, 9.7.13.15): 8 bytes of shared memory that count arrivals and bytes in transit, and complete a phase when
// none of either is awaited. The manual leaves their bits open; here they are
//   0-19 arrivals that a phase expects   20-39 arrivals still awaited   40-60 bytes in transit, signed   61-63 phases completed, modulo 8
// and the state that an arrival returns is the object as it was before.
//
// For the race detector an arrival is an atomic with release semantics on the half of the object that stands for its phase (even, odd), and a successful wait
// a load that acquires the half of the phase that is over: arrivals of the next phase may have come already, and order nothing for it.
// cp.async.mbarrier.arrive lands the thread's copies: a reader that does not wait for the phase is a race.
#include "emulator/mbarrier_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/access.h"
#include "emulator/bulk_ops.h"
#include "emulator/cluster.h"
#include "emulator/sleep.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;
using ptx::Order;

constexpr std::uint32_t kMostArrivals = (1u << 20) - 1;
constexpr std::uint32_t kAskedAgainAfter = 100;       // nanoseconds of a test_wait
constexpr std::uint32_t kSuspendedFor = 10'000'000;   // nanoseconds of a try_wait without a hint: "a system-dependent time limit"

struct Object {
  std::uint32_t expected = 0, awaited = 0, phase = 0;
  std::int32_t transit = 0;

  static Object unpack(std::uint64_t bits) {
    return {static_cast<std::uint32_t>(bits & kMostArrivals), static_cast<std::uint32_t>(bits >> 20 & kMostArrivals), static_cast<std::uint32_t>(bits >> 61),
            static_cast<std::int32_t>(static_cast<std::int64_t>(bits << 3) >> 43)};
  }
  std::uint64_t pack() const {
    return expected | std::uint64_t{awaited} << 20 | (static_cast<std::uint64_t>(static_cast<std::int64_t>(transit)) & 0x1fffff) << 40 | std::uint64_t{phase & 7} << 61;
  }
  void arrive(std::uint32_t count) { awaited -= std::min(awaited, count); }
  void complete_if_due() {
    if (awaited != 0 || transit != 0) return;
    phase = (phase + 1) & 7;
    awaited = expected;
  }
};

LaneAddresses addresses_of(const Warp& w, const Op& op) {
  LaneAddresses addresses;
  lane_addresses(w, op, 1, kFullMask, addresses);
  if (op.source->mods.space != ptx::Space::shared)
    for (Address& address : addresses)
      if (space_of(address) == ptx::Space::shared) address -= kSharedWindow;
  return addresses;
}

// `block`: whose object it is. What reaches another block of the cluster reaches it whatever the scope that the instruction names: pipelines across blocks name none.
// The one store is init, which is weak: who uses the object comes after it.
void tell_races(Warp& w, const Op& op, const Block& block, const LaneAddresses& addresses, std::uint32_t lane, AccessKind kind, Order order, std::uint32_t bytes = 8) {
  if (!w.launch->safety) return;
  RaceAccess access;
  access.block = w.block->races;
  access.warp = w.index;
  access.mask = 1u << lane;
  access.bytes = bytes;
  access.addresses = &addresses;
  access.window = block.races;
  access.memory = block.shared.data();
  access.location = op.location;
  access.kind = kind;
  access.strong = kind != AccessKind::store;
  access.order = order;
  access.scope = block.cluster != nullptr ? ptx::Scope::cluster : ptx::Scope::cta;
  w.launch->races->access(access);
}

void tell_phase(Warp& w, const Op& op, const Block& block, Address object, std::uint32_t phase, std::uint32_t lane, AccessKind kind, Order order) {
  LaneAddresses half{};
  half[lane] = object + 4 * (phase & 1);
  tell_races(w, op, block, half, lane, kind, order, 4);
}

// Whose each lane's object is: the block's own, or with a .shared::cluster address that of another block of the cluster. `addresses` become offsets.
using Owners = std::array<Block*, 32>;
Owners own_objects(const Warp& w) {
  Owners owners;
  owners.fill(w.block);
  return owners;
}
Flow find_owners(Warp& w, const Op& op, std::uint32_t mask, LaneAddresses& addresses, Owners& owners) {
  Flow flow = Flow::next;
  owners = own_objects(w);
  for_lanes(mask, [&](std::uint32_t i) {
    if (w.block->cluster == nullptr || addresses[i] >> kClusterRankShift == 0 || flow != Flow::next) return;
    const auto place = place_in_cluster(w, op, i, addresses[i], 8, flow);
    if (!place) return;
    owners[i] = place->block;
    addresses[i] = place->offset;
  });
  return flow;
}

void report_missing(Warp& w, const Op& op, std::uint32_t lanes) {
  report(w, op, lanes, "safety.uninitialised", "mbarrier-uninitialised", [&](evidence::Violation& v) {
    v.message = "uses an mbarrier object that was never initialised";
    v.measured = "no mbarrier.init before";
    v.required = "mbarrier.init, and a barrier after it (of the cluster, where other blocks use the object), before other threads use the object";
  });
}

// Where the objects of all lanes lie; jumps out with the fault when one is not in shared memory, aligned.
Flow check_objects(Warp& w, const Op& op, const LaneAddresses& addresses, std::uint32_t mask, bool must_exist, const Owners& owners) {
  Request request{addresses, mask, 8, ptx::Space::shared, must_exist ? Direction::atomic : Direction::store};
  const std::uint32_t inside = lanes_inside(addresses, mask, {nullptr, 0, w.launch->shared_bytes, nullptr}, 8);
  if (inside != mask) return fault_window(w, op, request, mask & ~inside, "shared", w.launch->shared_bytes);
  if (const std::uint32_t bad = lanes_misaligned(addresses, mask, 8); bad != 0) return fault_misaligned(w, op, request, bad);
  if (!w.launch->safety || !must_exist) return Flow::next;
  std::uint32_t missing = 0;
  if (std::all_of(owners.begin(), owners.end(), [&](const Block* owner) { return owner == w.block; })) missing = w.block->shared_shadow.all_written(addresses, mask, 8) ? 0 : mask;
  else for_lanes(mask, [&](std::uint32_t i) { missing |= static_cast<std::uint32_t>(!owners[i]->shared_shadow.all_written(addresses, 1u << i, 8)) << i; });
  if (missing != 0) report_missing(w, op, missing);
  return Flow::next;
}

std::uint64_t load(const Block& block, Address at) {
  std::uint64_t bits;
  std::memcpy(&bits, block.shared.data() + at, 8);
  return bits;
}
void store(Block& block, Address at, std::uint64_t bits) {
  std::memcpy(block.shared.data() + at, &bits, 8);
  ++block.launch->stores;
}

std::uint32_t operand(const Warp& w, const Op& op, std::uint32_t lane, std::uint32_t otherwise) {
  return (op.flags & kMbarrierOperand) != 0 ? get<std::uint32_t>(w.at(op.r[2]), lane) : otherwise;
}

void report_overflow(Warp& w, const Op& op, std::uint32_t lane, std::string_view what, std::uint64_t count) {
  report(w, op, 1u << lane, "safety.barriers", "mbarrier-count", [&](evidence::Violation& v) {
    v.message = fmt::format("{}: {}", what, count);
    v.measured = fmt::format("{}", count);
    v.required = fmt::format("1 to {} arrivals, and no more in a phase than it expects", kMostArrivals);
  });
}

Flow run_update(Warp& w, const Op& op, std::uint32_t mask) {
  const auto kind = static_cast<MbarrierKind>(op.target);
  LaneAddresses addresses = addresses_of(w, op);
  Owners owners;
  if (const Flow flow = find_owners(w, op, mask, addresses, owners); flow != Flow::next) return flow;
  if (const Flow flow = check_objects(w, op, addresses, mask, kind != MbarrierKind::init, owners); flow != Flow::next) return flow;
  for_lanes(mask, [&](std::uint32_t i) {
    if (kind == MbarrierKind::init) {
      const std::uint32_t count = operand(w, op, i, 1);
      if (count == 0 || count > kMostArrivals) report_overflow(w, op, i, "an mbarrier is made for this number of arrivals", count);
      if (w.launch->safety) w.block->shared_shadow.mark_range(addresses[i], 8, true);
      tell_races(w, op, *w.block, addresses, i, AccessKind::store, Order::none);
      return store(*w.block, addresses[i], Object{count & kMostArrivals, count & kMostArrivals, 0, 0}.pack());
    }
    if (kind == MbarrierKind::inval) {
      // Not weak: a pipeline of libcu++ is ended by one lane, which only a match.sync orders after the waits of its warp's other lanes.
      tell_races(w, op, *w.block, addresses, i, AccessKind::atomic, Order::relaxed);
      if (w.launch->safety) w.block->shared_shadow.mark_range(addresses[i], 8, false);
      return store(*w.block, addresses[i], 0);
    }
    tell_races(w, op, *owners[i], addresses, i, AccessKind::atomic, Order::relaxed);
    Object object = Object::unpack(load(*owners[i], addresses[i]));
    const auto bytes = static_cast<std::int32_t>(operand(w, op, i, 0));
    object.transit += kind == MbarrierKind::expect_tx ? bytes : -bytes;
    if (kind == MbarrierKind::complete_tx) object.complete_if_due();
    store(*owners[i], addresses[i], object.pack());
  });
  return Flow::next;
}

Flow run_arrive(Warp& w, const Op& op, std::uint32_t mask) {
  const auto kind = static_cast<MbarrierKind>(op.target);
  LaneAddresses addresses = addresses_of(w, op);
  Owners owners;
  if (const Flow flow = find_owners(w, op, mask, addresses, owners); flow != Flow::next) return flow;
  if (const Flow flow = check_objects(w, op, addresses, mask, true, owners); flow != Flow::next) return flow;
  const Order order = op.source->mods.order == Order::relaxed ? Order::relaxed : Order::release;
  for_lanes(mask, [&](std::uint32_t i) {
    const std::uint64_t before = load(*owners[i], addresses[i]);
    Object object = Object::unpack(before);
    const std::uint32_t count = kind == MbarrierKind::arrive_expect_tx ? 1 : operand(w, op, i, 1);
    if (count == 0 || count > object.awaited) report_overflow(w, op, i, fmt::format("{} arrivals where the phase awaits this number", count), object.awaited);
    if (kind == MbarrierKind::arrive_expect_tx) object.transit += static_cast<std::int32_t>(operand(w, op, i, 0));
    if (kind == MbarrierKind::arrive_drop) object.expected -= std::min(object.expected, count);
    object.arrive(count);
    object.complete_if_due();
    store(*owners[i], addresses[i], object.pack());
    tell_phase(w, op, *owners[i], addresses[i], Object::unpack(before).phase, i, AccessKind::atomic, order);
    put<std::uint64_t>(w.at(op.r[0]), i, before);
  });
  return Flow::next;
}

// r[2]: the state of an earlier arrival, or a parity (flags kMbarrierParity).
Flow run_wait(Warp& w, const Op& op, std::uint32_t mask) {
  const LaneAddresses addresses = addresses_of(w, op);
  if (const Flow flow = check_objects(w, op, addresses, mask, true, own_objects(w)); flow != Flow::next) return flow;
  const Order order = op.source->mods.order == Order::relaxed ? Order::relaxed : Order::acquire;
  std::uint32_t done = 0;
  for_lanes(mask, [&](std::uint32_t i) {
    Object object = Object::unpack(load(*w.block, addresses[i]));
    const bool by_parity = (op.flags & kMbarrierParity) != 0;
    const std::uint32_t waited = by_parity ? get<std::uint32_t>(w.at(op.r[2]), i) & 1 : Object::unpack(get<std::uint64_t>(w.at(op.r[2]), i)).phase;
    const auto is_over = [&] { return (by_parity ? object.phase & 1 : object.phase) != waited; };
    bool over = is_over();
    if (!over && object.awaited == 0) {   // only bytes are awaited: now they come
      land_bulk(*w.block, addresses[i]);
      object = Object::unpack(load(*w.block, addresses[i]));
      over = is_over();
    }
    done |= static_cast<std::uint32_t>(over) << i;
    tell_phase(w, op, *w.block, addresses[i], waited, i, AccessKind::load, over ? order : Order::relaxed);
  });
  put_predicate(w.at(op.r[0]), done, mask);
  if (done != 0) return Flow::next;
  if ((op.flags & kMbarrierSuspends) == 0) return sleep_group(w, mask, kAskedAgainAfter);
  return sleep_group(w, mask, (op.flags & kMbarrierHint) != 0 ? std::max(1u, get<std::uint32_t>(w.at(op.r[3]), static_cast<std::uint32_t>(std::countr_zero(mask)))) : kSuspendedFor);
}

// r[1]: the state.
Flow run_pending_count(Warp& w, const Op& op, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t i) { put<std::uint32_t>(w.at(op.r[0]), i, Object::unpack(get<std::uint64_t>(w.at(op.r[1]), i)).awaited); });
  return Flow::next;
}

// Without .noinc the phase awaits one arrival more, which is this one.
Flow run_copy_arrive(Warp& w, const Op& op, std::uint32_t mask) {
  const LaneAddresses addresses = addresses_of(w, op);
  if (const Flow flow = check_objects(w, op, addresses, mask, true, own_objects(w)); flow != Flow::next) return flow;
  land_copies(w, mask);
  const bool counts = op.source->mods.text.find("noinc") != std::string::npos;
  for_lanes(mask, [&](std::uint32_t i) {
    Object object = Object::unpack(load(*w.block, addresses[i]));
    const std::uint32_t phase = object.phase;
    if (counts) object.arrive(1);
    object.complete_if_due();
    store(*w.block, addresses[i], object.pack());
    tell_phase(w, op, *w.block, addresses[i], phase, i, AccessKind::atomic, Order::release);
  });
  return Flow::next;
}

}  // namespace

void expect_object(const BulkCopy& copy) {
  if (!copy.issuer->launch->safety) return;
  LaneAddresses addresses{};
  addresses[copy.lane] = copy.barrier;
  Warp& w = copy.issuer->warps[copy.warp];
  if (!copy.block->shared_shadow.all_written(addresses, 1u << copy.lane, 8)) report_missing(w, *copy.op, 1u << copy.lane);
  tell_races(w, *copy.op, *copy.block, addresses, copy.lane, AccessKind::load, Order::relaxed);
}

void complete_bytes(const BulkCopy& copy) {
  std::uint64_t bits = 0;
  std::byte* at = copy.block->shared.data() + copy.barrier;
  std::memcpy(&bits, at, 8);
  Object object = Object::unpack(bits);
  const std::uint32_t phase = object.phase;
  object.transit -= static_cast<std::int32_t>(copy.bytes);
  object.complete_if_due();
  bits = object.pack();
  std::memcpy(at, &bits, 8);
  ++copy.issuer->launch->stores;
  tell_phase(copy.issuer->warps[copy.warp], *copy.op, *copy.block, copy.barrier, phase, copy.lane, AccessKind::atomic, Order::release);
}

MbarrierKind mbarrier_kind(std::string_view form) {
  static constexpr std::pair<std::string_view, MbarrierKind> kKinds[] = {
      {"mbarrier_init", MbarrierKind::init}, {"mbarrier_inval", MbarrierKind::inval}, {"mbarrier_expect_tx", MbarrierKind::expect_tx}, {"mbarrier_complete_tx", MbarrierKind::complete_tx},
      {"mbarrier_arrive_drop", MbarrierKind::arrive_drop}, {"mbarrier_arrive_expect_tx", MbarrierKind::arrive_expect_tx}, {"mbarrier_arrive", MbarrierKind::arrive},
      {"mbarrier_pending_count", MbarrierKind::pending_count}};
  for (const auto& [prefix, kind] : kKinds)
    if (form.starts_with(prefix)) return kind;
  return form.starts_with("cp_async") ? MbarrierKind::copy_arrive : MbarrierKind::wait;
}

Handlers select_mbarrier(const ptx::Instruction& in) {
  switch (mbarrier_kind(ptx::instruction_table()[in.form].id)) {
    case MbarrierKind::init: case MbarrierKind::inval: case MbarrierKind::expect_tx: case MbarrierKind::complete_tx: return same(&run_update);
    case MbarrierKind::arrive: case MbarrierKind::arrive_drop: case MbarrierKind::arrive_expect_tx: return same(&run_arrive);
    case MbarrierKind::pending_count: return same(&run_pending_count);
    case MbarrierKind::copy_arrive: return same(&run_copy_arrive);
    default: return same(&run_wait);
  }
}

}  // namespace kforge::emulator
