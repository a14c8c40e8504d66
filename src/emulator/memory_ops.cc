// ld, st and ldu: address, window, observers, bytes.
//
// A request goes through the same steps whatever its space: addresses of all lanes; the window that they must lie in; one
// test over all lanes for bounds and alignment; the observers of the variant; then the bytes. The last allocation of each
// instruction is remembered, so that the search happens once per kernel in ordinary code.
#include <cstring>

#include "emulator/access.h"
#include "emulator/cluster.h"
#include "emulator/handlers.h"
#include "emulator/polls.h"
#include "emulator/store_notes.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {
namespace {

using ptx::Space;

// ---- bytes ---------------------------------------------------------------------------------------------------------

// `skip`: the element's offset in what a lane reads.
template <int kBytes, bool kFull>
void load_element(std::byte* slot, bool wide, bool sign, const Window& window, const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t skip) {
  const auto each = [&](auto body) {
    if constexpr (kFull) {
      for (std::uint32_t i = 0; i < 32; ++i) body(i);
    } else {
      for (std::uint32_t m = mask; m != 0; m &= m - 1) body(static_cast<std::uint32_t>(std::countr_zero(m)));
    }
  };
  if constexpr (kBytes >= 4) {
    if (wide == (kBytes == 8)) {
      each([&](std::uint32_t i) { std::memcpy(slot + i * kBytes, window.at(addresses[i]) + skip, kBytes); });
      return;
    }
  }
  each([&](std::uint32_t i) {
    std::uint64_t value = 0;
    std::memcpy(&value, window.at(addresses[i]) + skip, kBytes);
    if (sign) value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << (64 - 8 * kBytes)) >> (64 - 8 * kBytes));
    if (wide) put<std::uint64_t>(slot, i, value);
    else put<std::uint32_t>(slot, i, static_cast<std::uint32_t>(value));
  });
}

template <int kBytes>
void load_bytes(Warp& w, const Op& op, const Window& window, const Request& request, std::uint32_t lanes) {
  for (std::uint32_t e = 0; e < op.list_count; ++e) {
    std::byte* slot = w.at(op.list[e]);
    const bool wide = (op.wide >> e & 1) != 0, sign = (op.flags & kSignExtend) != 0;
    if (lanes == kFullMask) load_element<kBytes, true>(slot, wide, sign, window, request.addresses, lanes, e * kBytes);
    else load_element<kBytes, false>(slot, wide, sign, window, request.addresses, lanes, e * kBytes);
  }
}

template <int kBytes>
void store_bytes(Warp& w, const Op& op, const Window& window, const Request& request, std::uint32_t lanes) {
  for (std::uint32_t e = 0; e < op.list_count; ++e) {
    const std::byte* slot = w.at(op.list[e]);
    const std::uint32_t stride = (op.wide >> e & 1) != 0 ? 8 : 4;
    for_lanes(lanes, [&](std::uint32_t i) { std::memcpy(window.at(request.addresses[i]) + e * kBytes, slot + i * stride, kBytes); });
  }
}

// ---- observers -----------------------------------------------------------------------------------------------------

RaceAccess race_access(Warp& w, const Op& op, const Window& window, const Request& request, std::uint32_t lanes) {
  RaceAccess access;
  access.block = w.block->races;
  access.window = owner_of(w, request).races;
  access.warp = w.index;
  access.mask = lanes;
  access.bytes = request.bytes;
  access.addresses = &request.addresses;
  access.allocation = window.allocation;
  access.memory = window.data;
  access.location = op.location;
  access.kind = request.direction == Direction::load ? AccessKind::load : AccessKind::store;
  const bool exchange = window.allocation == nullptr && op.source->mods.order == ptx::Order::volatile_ && access.kind == AccessKind::load;
  access.strong = (op.flags & kStrong) != 0 && (!exchange || (op.flags & kPolls) != 0);
  access.order = op.source->mods.order;
  access.scope = op.source->mods.scope;
  if (request.direction == Direction::store && (op.wide == 0 || op.wide == (1u << op.list_count) - 1)) {
    for (std::uint32_t e = 0; e < op.list_count; ++e) access.values.element[e] = w.at(op.list[e]);
    access.values.element_bytes = op.bytes;
    access.values.lane_stride = op.wide != 0 ? 8 : 4;
  }
  return access;
}

// ---- windows -------------------------------------------------------------------------------------------------------

template <Variant kVariant, int kBytes, Direction kDirection>
struct Access {
  static constexpr bool kSafety = Observes<kVariant>::safety, kProfile = Observes<kVariant>::profile;
  static constexpr bool kStore = kDirection == Direction::store;

  static void perform(Warp& w, const Op& op, const Window& window, const Request& request, std::uint32_t lanes) {
    if constexpr (kStore) store_bytes<kBytes>(w, op, window, request, lanes);
    else load_bytes<kBytes>(w, op, window, request, lanes);
  }

  static Flow in_global(Warp& w, const Op& op, Request& request) {
    Launch& launch = *w.launch;
    if (const std::uint32_t bad = lanes_misaligned(request.addresses, request.mask, request.bytes); bad != 0)
      return fault_misaligned(w, op, request, bad);
    if constexpr (kProfile)
      if (op.source->mods.space != Space::constant) count_global(w, op, request);
    Allocation*& remembered = launch.memos[op.index].allocation;
    Allocation* allocation = remembered;
    std::uint32_t rest = request.mask;
    while (rest != 0) {
      std::uint32_t inside = 0;
      Window window;
      if (allocation != nullptr && allocation->live) {
        window = {allocation->data, allocation->base, allocation->size, allocation};
        inside = lanes_inside(request.addresses, rest, window, request.bytes);
      }
      if (inside == 0) {
        allocation = launch.memory->find(request.addresses[static_cast<std::size_t>(std::countr_zero(rest))]);
        if (allocation != nullptr) {
          window = {allocation->data, allocation->base, allocation->size, allocation};
          inside = lanes_inside(request.addresses, rest, window, request.bytes);
        }
        if ((inside & rest & (~rest + 1)) == 0) {
          const std::uint32_t lost = lost_lane(w, request, rest);
          if (lost == 0) return fault_global(w, op, request, rest);
          perform(w, op, lost_bytes(request, lost), request, lost);
          rest &= ~lost;
          allocation = nullptr;
          continue;
        }
        remembered = allocation;
      }
      if (const Flow flow = in_allocation(w, op, window, request, inside); flow != Flow::next) return flow;
      rest &= ~inside;
      allocation = nullptr;
    }
    return Flow::next;
  }

  static Flow in_allocation(Warp& w, const Op& op, const Window& window, const Request& request, std::uint32_t lanes) {
    Launch& launch = *w.launch;
    if constexpr (kStore) {
      if (window.allocation->read_only) return fault_read_only(w, op, request, *window.allocation);
      ++launch.stores;
      if constexpr (kSafety || kProfile) {
        Request part = request;
        part.mask = lanes;
        mark_stored_bytes(*window.allocation, part);
        if constexpr (kProfile) note_store(w, op, *window.allocation, part);
      }
    }
    if constexpr (kSafety) {
      if (window.allocation->kind != MemoryKind::constant) launch.races->access(race_access(w, op, window, request, lanes));
      if constexpr (kStore) store_global_shadow(w, op, *window.allocation, request, lanes);
    }
    perform(w, op, window, request, lanes);
    if constexpr (kSafety && !kStore) load_global_shadow(w, op, *window.allocation, request, lanes);
    return Flow::next;
  }

  static Flow in_shared(Warp& w, const Op& op, Request& request) {
    const Window window{owner_of(w, request).shared.data(), 0, w.launch->shared_bytes, nullptr};
    const std::uint32_t inside = lanes_inside(request.addresses, request.mask, window, request.bytes);
    if (inside != request.mask) {
      if (reaches_others(w, op, request)) return for_owners(w, op, request, [&](Request& part) { return in_shared(w, op, part); });
      return fault_window(w, op, request, request.mask & ~inside, "shared", window.size);
    }
    if (const std::uint32_t bad = lanes_misaligned(request.addresses, request.mask, request.bytes); bad != 0)
      return fault_misaligned(w, op, request, bad);
    if constexpr (kProfile) count_shared(w, op, request);
    if constexpr (kStore) ++w.launch->stores;
    if constexpr (kSafety) {
      w.launch->races->access(race_access(w, op, window, request, request.mask));
      if constexpr (kStore) store_shared_shadow(w, op, request);
    }
    perform(w, op, window, request, request.mask);
    if constexpr (kSafety && !kStore) load_shared_shadow(w, op, request);
    return Flow::next;
  }

  static Flow in_local(Warp& w, const Op& op, Request& request) {
    const std::uint32_t top = w.frame->local_top;
    const Window frames{w.local.data(), 0, top, nullptr};
    const std::uint32_t inside = lanes_inside(request.addresses, request.mask, frames, request.bytes);
    if (inside != request.mask) return fault_window(w, op, request, request.mask & ~inside, "local", top);
    if (const std::uint32_t bad = lanes_misaligned(request.addresses, request.mask, request.bytes); bad != 0)
      return fault_misaligned(w, op, request, bad);
    if constexpr (kProfile) count_local(w, op);
    if constexpr (kStore) ++w.launch->stores;
    for (std::uint32_t i = 0; i < 32; ++i) request.addresses[i] += std::uint64_t{i} * w.local_stride;
    if constexpr (kSafety && kStore) store_local_shadow(w, op, request);
    perform(w, op, {w.local.data(), 0, w.local.size(), nullptr}, request, request.mask);
    if constexpr (kSafety && !kStore) load_local_shadow(w, op, request);
    return Flow::next;
  }

  static Flow in_generic(Warp& w, const Op& op, Request& request) {
    for (std::uint32_t rest = request.mask; rest != 0;) {
      const Space space = space_of(request.addresses[static_cast<std::size_t>(std::countr_zero(rest))]);
      Request part = request;
      part.mask = 0;
      for_lanes(rest, [&](std::uint32_t i) { part.mask |= static_cast<std::uint32_t>(space_of(request.addresses[i]) == space) << i; });
      rest &= ~part.mask;
      const Address base = space == Space::shared ? kSharedWindow : space == Space::local ? kLocalWindow : 0;
      for (std::uint32_t i = 0; i < 32; ++i) part.addresses[i] -= base;
      const Flow flow = space == Space::shared ? in_shared(w, op, part) : space == Space::local ? in_local(w, op, part) : in_global(w, op, part);
      if (flow != Flow::next) return flow;
    }
    return Flow::next;
  }

  // Parameters of the entry are one buffer; those of device functions and calls are per lane.
  static Flow in_param(Warp& w, const Op& op, Request& request) {
    const bool entry = (op.flags & kEntryParam) != 0;
    const std::uint64_t size = entry ? w.launch->parameters->size : w.frame->function->param_bytes;
    std::byte* data = entry ? w.launch->parameters->data : w.frame->params.data();
    const std::uint32_t inside = lanes_inside(request.addresses, request.mask, {data, 0, size, nullptr}, request.bytes);
    if (inside != request.mask) return fault_window(w, op, request, request.mask & ~inside, "parameter", size);
    if (!entry)
      for (std::uint32_t i = 0; i < 32; ++i) request.addresses[i] += i * size;
    perform(w, op, {data, 0, entry ? size : 32 * size, nullptr}, request, request.mask);
    if constexpr (kSafety) {
      if (kStore) store_param_shadow(w, op, request);
      else load_param_shadow(w, op, request, entry);
    }
    return Flow::next;
  }

  template <Space kSpace>
  static Flow run(Warp& w, const Op& op, std::uint32_t mask) {
    Request request;
    request.mask = mask;
    request.bytes = static_cast<std::uint32_t>(kBytes) * op.list_count;
    request.space = kSpace;
    request.direction = kDirection;
    lane_addresses(w, op, 0, mask, request.addresses);
    if constexpr (kSafety) check_address(w, op, 0, mask);
    if constexpr (kSpace == Space::global || kSpace == Space::constant) return in_global(w, op, request);
    else if constexpr (kSpace == Space::shared) return in_shared(w, op, request);
    else if constexpr (kSpace == Space::local) return in_local(w, op, request);
    else if constexpr (kSpace == Space::param) return in_param(w, op, request);
    else return in_generic(w, op, request);
  }
};

template <Variant kVariant, int kBytes, Direction kDirection>
Handler by_space(Space space) {
  using A = Access<kVariant, kBytes, kDirection>;
  switch (space) {
    case Space::global: return &A::template run<Space::global>;
    case Space::constant: return &A::template run<Space::constant>;
    case Space::shared: return &A::template run<Space::shared>;
    case Space::local: return &A::template run<Space::local>;
    case Space::param: return &A::template run<Space::param>;
    default: return &A::template run<Space::generic>;
  }
}

template <Variant kVariant, Direction kDirection>
Handler by_bytes(std::uint32_t bytes, Space space) {
  switch (bytes) {
    case 1: return by_space<kVariant, 1, kDirection>(space);
    case 2: return by_space<kVariant, 2, kDirection>(space);
    case 4: return by_space<kVariant, 4, kDirection>(space);
    case 8: return by_space<kVariant, 8, kDirection>(space);
    default: return nullptr;
  }
}

}  // namespace

Handlers select_memory(const ptx::Instruction& in, ptx::Exec exec) {
  const std::uint32_t bytes = ptx::size_bytes(in.type);
  return for_variants([&](auto variant) {
    constexpr Variant kVariant = decltype(variant)::value;
    if (exec == ptx::Exec::st) return by_bytes<kVariant, Direction::store>(bytes, in.mods.space);
    return by_bytes<kVariant, Direction::load>(bytes, in.mods.space);
  });
}

}  // namespace kforge::emulator
