// atom and red: lanes one after the other, lowest first (PTX manual, 9.7.13.5 and 9.7.13.6).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "emulator/access.h"
#include "emulator/cluster.h"
#include "emulator/formats.h"
#include "emulator/handlers.h"
#include "emulator/registers.h"
#include "emulator/store_notes.h"
#include "emulator/team.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {
namespace {

using ptx::AtomOp;
using ptx::Space;
using ptx::Type;
using U64 = std::uint64_t;

template <class T>
T integer_step(AtomOp how, T old, T a) {
  using U = std::make_unsigned_t<T>;
  switch (how) {
    case AtomOp::add: return T(U(old) + U(a));
    case AtomOp::inc: return U(old) >= U(a) ? T(0) : T(old + 1);
    case AtomOp::dec: return old == 0 || U(old) > U(a) ? a : T(old - 1);
    case AtomOp::min: return std::min(old, a);
    case AtomOp::max: return std::max(old, a);
    case AtomOp::and_: return T(old & a);
    case AtomOp::or_: return T(old | a);
    case AtomOp::xor_: return T(old ^ a);
    default: return a;   // exch
  }
}

float flushed(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }

// f32 in global memory flushes subnormals, in shared memory it does not.
std::uint32_t add_f32(U64 old, U64 a, bool flush) {
  float x = std::bit_cast<float>(static_cast<std::uint32_t>(old)), y = std::bit_cast<float>(static_cast<std::uint32_t>(a));
  if (flush) x = flushed(x), y = flushed(y);
  const float sum = x + y;
  if (sum != sum) return 0x7fffffffu;
  return std::bit_cast<std::uint32_t>(flush ? flushed(sum) : sum);
}

std::uint32_t half_step(AtomOp how, U64 old, U64 a, const Format& f) {
  const double x = decode_format(static_cast<std::uint32_t>(old) & 0xffff, f), y = decode_format(static_cast<std::uint32_t>(a) & 0xffff, f);
  if (how == AtomOp::add) return encode_format(add_to_odd(x, y), f);
  if (x != x || y != y) return encode_format(x != x ? y : x, f);
  const bool x_is_less = x != y ? x < y : std::signbit(x) && !std::signbit(y);   // -0 is less than +0
  return encode_format((how == AtomOp::min) == x_is_less ? x : y, f);
}

U64 half_pair_step(AtomOp how, U64 old, U64 a, const Format& f) {
  return half_step(how, old, a, f) | static_cast<U64>(half_step(how, old >> 16, a >> 16, f)) << 16;
}

U64 lane_value(const Warp& w, Ref ref, std::uint32_t bytes, std::uint32_t lane) {
  if (bytes == 8) return get<U64>(w.at(ref), lane);
  const U64 value = get<std::uint32_t>(w.at(ref), lane);
  return bytes == 2 ? value & 0xffff : value;
}

void put_lane(const Warp& w, Ref ref, std::uint32_t bytes, std::uint32_t lane, U64 value) {
  if (bytes == 8) put<U64>(w.at(ref), lane, value);
  else put<std::uint32_t>(w.at(ref), lane, static_cast<std::uint32_t>(value));
}

// exch and cas of 128 bits: list holds the operand's two words, then the result's; r[3], r[4] are cas's replacement.
std::uint32_t perform_b128(Warp& w, const Op& op, const Window& window, const Request& request) {
  const bool is_cas = op.source->mods.atom_op == AtomOp::cas;
  std::uint32_t wrote = 0;
  for_lanes(request.mask, [&](std::uint32_t i) {
    std::byte* at = window.at(request.addresses[i]);
    std::array<U64, 2> old{}, value{};
    std::memcpy(old.data(), at, 16);
    const std::array<U64, 2> a{get<U64>(w.at(op.list[0]), i), get<U64>(w.at(op.list[1]), i)};
    value = !is_cas ? a : old == a ? std::array<U64, 2>{get<U64>(w.at(op.r[3]), i), get<U64>(w.at(op.r[4]), i)} : old;
    if (!is_cas || old == a) wrote |= 1u << i;
    if (value != old) {
      std::memcpy(at, value.data(), 16);
      ++w.launch->stores;
    }
    for (std::size_t half = 0; half < 2; ++half) put<U64>(w.at(op.list[2 + half]), i, old[half]);
  });
  return wrote;
}

// Plain integers of 32 and 64 bits, which nearly all are: T is the type, `F` the new value from the old one and the operand.
template <class T, class F>
void perform_each(Warp& w, const Op& op, const Window& window, const Request& request, F new_value) {
  const std::byte* operand = w.at(op.r[2]);
  std::byte* result = family(*op.source) == ptx::Exec::atom ? w.at(op.r[0]) : nullptr;
  std::uint64_t changes = 0;
  for_lanes(request.mask, [&](std::uint32_t i) {
    std::byte* at = window.at(request.addresses[i]);
    T old;
    std::memcpy(&old, at, sizeof old);
    const T value = new_value(old, get<T>(operand, i));
    std::memcpy(at, &value, sizeof value);
    changes += value != old;
    if (result != nullptr) put<T>(result, i, old);
  });
  w.launch->stores += changes;
}

template <class T>
bool perform_integer(Warp& w, const Op& op, const Window& window, const Request& request) {
  const auto each = [&](auto new_value) {
    perform_each<T>(w, op, window, request, new_value);
    return true;
  };
  switch (op.source->mods.atom_op) {
    case AtomOp::add: return each([](T old, T a) { return integer_step(AtomOp::add, old, a); });
    case AtomOp::min: return each([](T old, T a) { return std::min(old, a); });
    case AtomOp::max: return each([](T old, T a) { return std::max(old, a); });
    case AtomOp::and_: return each([](T old, T a) { return T(old & a); });
    case AtomOp::or_: return each([](T old, T a) { return T(old | a); });
    case AtomOp::exch: return each([](T, T a) { return a; });
    default: return false;
  }
}

// False: not one of those.
bool perform_quickly(Warp& w, const Op& op, const Window& window, const Request& request) {
  if (op.list_count != 0) return false;
  switch (op.source->type) {
    case Type::s32: return perform_integer<std::int32_t>(w, op, window, request);
    case Type::u32: case Type::b32: return perform_integer<std::uint32_t>(w, op, window, request);
    case Type::s64: return perform_integer<std::int64_t>(w, op, window, request);
    case Type::u64: case Type::b64: return perform_integer<std::uint64_t>(w, op, window, request);
    default: return false;
  }
}

// Performs all lanes; returns those that changed memory or may have (all but failed compare-and-swaps).
std::uint32_t perform(Warp& w, const Op& op, const Window& window, const Request& request, bool global) {
  const ptx::Instruction& in = *op.source;
  if (in.type == Type::b128) return perform_b128(w, op, window, request);
  if (perform_quickly(w, op, window, request)) return request.mask;
  const std::uint32_t elements = std::max<std::uint32_t>(1, op.list_count);
  const bool vector = op.list_count != 0;
  const bool returns = family(in) == ptx::Exec::atom;
  std::uint32_t wrote = 0;
  for_lanes(request.mask, [&](std::uint32_t i) {
    for (std::uint32_t e = 0; e < elements; ++e) {
      std::byte* at = window.at(request.addresses[i]) + e * op.bytes;
      U64 old = 0;
      std::memcpy(&old, at, op.bytes);
      const U64 a = lane_value(w, vector ? op.list[e] : op.r[2], op.bytes, i);
      const U64 b = in.mods.atom_op == AtomOp::cas ? lane_value(w, op.r[3], op.bytes, i) : 0;
      const U64 value = atomic_step(in, old, a, b, global);
      if (in.mods.atom_op != AtomOp::cas || old == a) wrote |= 1u << i;
      if (value != old) {
        std::memcpy(at, &value, op.bytes);
        ++w.launch->stores;
      }
      if (returns) put_lane(w, vector ? op.list[elements + e] : op.r[0], op.bytes, i, old);
    }
  });
  return wrote;
}

void tell_races(Warp& w, const Op& op, const Window& window, const Request& request, std::uint32_t wrote) {
  RaceAccess access;
  access.block = w.block->races;
  access.window = owner_of(w, request).races;
  access.warp = w.index;
  access.mask = request.mask;
  access.bytes = request.bytes;
  access.addresses = &request.addresses;
  access.allocation = window.allocation;
  access.memory = window.data;
  access.location = op.location;
  access.kind = AccessKind::atomic;
  access.strong = true;
  access.order = op.source->mods.order;
  access.scope = op.source->mods.scope;
  access.wrote = wrote;
  w.launch->races->access(access);
}

template <Variant kVariant>
struct Atomic {
  static constexpr bool kSafety = Observes<kVariant>::safety, kProfile = Observes<kVariant>::profile;

  static Flow in_global(Warp& w, const Op& op, Request& request) {
    if (const std::uint32_t bad = lanes_misaligned(request.addresses, request.mask, request.bytes); bad != 0) return fault_misaligned(w, op, request, bad);
    if constexpr (kProfile) count_global(w, op, request);
    Allocation*& remembered = w.launch->memos[op.index].allocation;
    for (std::uint32_t rest = request.mask; rest != 0;) {
      const Address first = request.addresses[static_cast<std::size_t>(std::countr_zero(rest))];
      Allocation* allocation = remembered != nullptr && remembered->live && first - remembered->base < remembered->size ? remembered : w.launch->memory->find(first);
      remembered = allocation;
      Request part = request;
      const Window window = allocation == nullptr ? Window{} : Window{allocation->data, allocation->base, allocation->size, allocation};
      part.mask = allocation == nullptr ? 0 : lanes_inside(request.addresses, rest, window, request.bytes);
      if ((part.mask & rest & (~rest + 1)) == 0) {
        part.mask = lost_lane(w, request, rest);
        if (part.mask == 0) return fault_global(w, op, request, rest);
        perform(w, op, lost_bytes(request, part.mask), part, true);
        rest &= ~part.mask;
        continue;
      }
      if (allocation->read_only) return fault_read_only(w, op, request, *allocation);
      if constexpr (kSafety || kProfile) mark_stored_bytes(*allocation, part);
      if constexpr (kProfile) note_store(w, op, *allocation, part);
      if constexpr (kSafety) atomic_global_shadow(w, op, *allocation, part);
      const std::unique_lock<std::mutex> alone = w.launch->team != nullptr ? std::unique_lock(w.launch->team->atomics) : std::unique_lock<std::mutex>();
      const std::uint32_t wrote = perform(w, op, window, part, true);
      if constexpr (kSafety) tell_races(w, op, window, part, wrote);
      rest &= ~part.mask;
    }
    return Flow::next;
  }

  static Flow in_shared(Warp& w, const Op& op, Request& request) {
    const Window window{owner_of(w, request).shared.data(), 0, w.launch->shared_bytes, nullptr};
    const std::uint32_t inside = lanes_inside(request.addresses, request.mask, window, request.bytes);
    if (inside != request.mask) {
      if (reaches_others(w, op, request)) return for_owners(w, op, request, [&](Request& part) { return in_shared(w, op, part); });
      return fault_window(w, op, request, request.mask & ~inside, "shared", window.size);
    }
    if (const std::uint32_t bad = lanes_misaligned(request.addresses, request.mask, request.bytes); bad != 0) return fault_misaligned(w, op, request, bad);
    if constexpr (kProfile) count_shared(w, op, request);
    if constexpr (kSafety) atomic_shared_shadow(w, op, request);
    const std::uint32_t wrote = perform(w, op, window, request, false);
    if constexpr (kSafety) tell_races(w, op, window, request, wrote);
    return Flow::next;
  }

  static Flow run(Warp& w, const Op& op, std::uint32_t mask) {
    Request request;
    request.mask = mask;
    request.bytes = std::uint32_t{op.bytes} * std::max<std::uint32_t>(1, op.list_count);
    request.direction = Direction::atomic;
    lane_addresses(w, op, 1, mask, request.addresses);
    if constexpr (kSafety) check_address(w, op, 1, mask);
    const Space space = op.source->mods.space;
    if (space == Space::global) return in_global(w, op, request);
    if (space == Space::shared) return in_shared(w, op, request);
    for (std::uint32_t rest = mask; rest != 0;) {
      const Space first = space_of(request.addresses[static_cast<std::size_t>(std::countr_zero(rest))]);
      Request part = request;
      part.mask = 0;
      for_lanes(rest, [&](std::uint32_t i) { part.mask |= static_cast<std::uint32_t>(space_of(request.addresses[i]) == first) << i; });
      rest &= ~part.mask;
      if (first == Space::shared)
        for (Address& address : part.addresses) address -= kSharedWindow;
      const Flow flow = first == Space::shared ? in_shared(w, op, part) : in_global(w, op, part);
      if (flow != Flow::next) return flow;
    }
    return Flow::next;
  }
};

}  // namespace

U64 atomic_step(const ptx::Instruction& in, U64 old, U64 a, U64 b, bool global) {
  const AtomOp how = in.mods.atom_op;
  const std::uint32_t bits = ptx::size_bits(in.type);
  if (how == AtomOp::cas) return old == a ? b : old;
  switch (in.type) {
    case Type::f32: return how == AtomOp::add ? add_f32(old, a, global) : a;
    case Type::f64: return how == AtomOp::add ? std::bit_cast<U64>(std::bit_cast<double>(old) + std::bit_cast<double>(a)) : a;
    case Type::f16: return half_step(how, old, a, kF16);
    case Type::bf16: return half_step(how, old, a, kBf16);
    case Type::f16x2: return half_pair_step(how, old, a, kF16);
    case Type::bf16x2: return half_pair_step(how, old, a, kBf16);
    case Type::s32: return static_cast<std::uint32_t>(integer_step(how, static_cast<std::int32_t>(old), static_cast<std::int32_t>(a)));
    case Type::s64: return static_cast<U64>(integer_step(how, static_cast<std::int64_t>(old), static_cast<std::int64_t>(a)));
    default: return bits == 64 ? integer_step(how, old, a) : integer_step(how, static_cast<std::uint32_t>(old), static_cast<std::uint32_t>(a));
  }
}

Handlers select_atomic(const ptx::Instruction& in, ptx::Exec) {
  if (in.mods.atom_op == AtomOp::none) return Handlers{};
  return for_variants([](auto v) -> Handler { return &Atomic<decltype(v)::value>::run; });
}

}  // namespace kforge::emulator
