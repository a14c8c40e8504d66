#include "emulator/lane_access.h"

#include <bit>
#include <cstring>

#include "emulator/handlers.h"
#include "emulator/store_notes.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {
namespace {

using ptx::Space;

RaceAccess race_access(Warp& w, const Op& op, const Window& window, const Request& request, std::uint32_t lanes, const LaneElements* stored) {
  RaceAccess access;
  access.block = w.block->races;
  access.warp = w.index;
  access.mask = lanes;
  access.bytes = request.bytes;
  access.addresses = &request.addresses;
  access.allocation = window.allocation;
  access.memory = window.data;
  access.location = op.location;
  access.kind = stored == nullptr ? AccessKind::load : AccessKind::store;
  if (stored != nullptr) {
    access.values.element[0] = reinterpret_cast<const std::byte*>(stored->value.data());
    access.values.element_bytes = static_cast<std::uint8_t>(request.bytes);
    access.values.lane_stride = 8;
  }
  return access;
}

std::byte* place(const Window& window, const Request& request, std::uint32_t lane) { return window.data + (request.addresses[lane] - window.base); }

void merge(UndefinedBytes& into, const UndefinedBytes& part) {
  for (std::size_t b = 0; b < into.lanes.size(); ++b) into.lanes[b] |= part.lanes[b];
  if (into.origin == 0) into.origin = part.origin;
}

// What of the loaded elements is undefined, with its origin.
template <class First, class Unwritten>
void load_shadow(Warp& w, const Op& op, std::uint32_t lanes, ShadowSpace space, LaneElements& elements, First first, Unwritten unwritten) {
  UndefinedBytes part = unwritten();
  if (part.any() != 0 && part.origin == 0) {
    const auto where = first();
    part.origin = undefined_origin(w, op, space, where ? where->offset : 0, where ? where->lane : static_cast<std::uint32_t>(std::countr_zero(lanes)));
  }
  merge(elements.undefined, part);
}

// The lanes of `rest` that are in one space with its first one, taken from it; addresses are those of that space.
Request next_part(const Request& request, std::uint32_t& rest) {
  const Space space = space_of(request.addresses[static_cast<std::size_t>(std::countr_zero(rest))]);
  Request part = request;
  part.space = space == Space::shared ? Space::shared : Space::global;
  part.mask = 0;
  for_lanes(rest, [&](std::uint32_t i) { part.mask |= static_cast<std::uint32_t>(space_of(request.addresses[i]) == space) << i; });
  rest &= ~part.mask;
  if (space == Space::shared)
    for (Address& address : part.addresses) address -= kSharedWindow;
  return part;
}

template <Variant kVariant>
struct Elements {
  static constexpr bool kSafety = Observes<kVariant>::safety, kProfile = Observes<kVariant>::profile;

  static void move(const Window& window, const Request& request, LaneElements* loaded, const LaneElements* stored) {
    for_lanes(request.mask, [&](std::uint32_t i) {
      if (loaded != nullptr) loaded->value[i] = 0, std::memcpy(&loaded->value[i], place(window, request, i), request.bytes);
      else std::memcpy(place(window, request, i), &stored->value[i], request.bytes);
    });
  }

  static Flow in_shared(Warp& w, const Op& op, const Request& request, LaneElements* loaded, const LaneElements* stored) {
    const Window window{w.block->shared.data(), 0, w.launch->shared_bytes, nullptr};
    const std::uint32_t inside = lanes_inside(request.addresses, request.mask, window, request.bytes);
    if (inside != request.mask) return fault_window(w, op, request, request.mask & ~inside, "shared", window.size);
    if (const std::uint32_t bad = lanes_misaligned(request.addresses, request.mask, request.bytes); bad != 0) return fault_misaligned(w, op, request, bad);
    if constexpr (kProfile)
      if (request.counts) count_shared(w, op, request);
    if (stored != nullptr) ++w.launch->stores;
    if constexpr (kSafety) {
      w.launch->races->access(race_access(w, op, window, request, request.mask, stored));
      ByteShadow& shadow = w.block->shared_shadow;
      if (stored != nullptr) {
        shadow.mark_stored(request.addresses, request.mask, 0, request.bytes, stored->undefined);
      } else if (!shadow.all_written(request.addresses, request.mask, request.bytes)) {
        load_shadow(w, op, request.mask, report_read_in_flight(w, op, request) ? ShadowSpace::in_flight : ShadowSpace::shared, *loaded,
                    [&] { return shadow.first_unwritten(request.addresses, request.mask, request.bytes); },
                    [&] { return shadow.unwritten(request.addresses, request.mask, 0, request.bytes); });
      }
    }
    move(window, request, loaded, stored);
    return Flow::next;
  }

  static Flow in_allocation(Warp& w, const Op& op, Allocation& allocation, const Request& request, LaneElements* loaded, const LaneElements* stored) {
    const Window window{allocation.data, allocation.base, allocation.size, &allocation};
    if (stored != nullptr) {
      if (allocation.read_only) return fault_read_only(w, op, request, allocation);
      ++w.launch->stores;
      if constexpr (kSafety || kProfile) mark_stored_bytes(allocation, request);
      if constexpr (kProfile) note_store(w, op, allocation, request);
    }
    if constexpr (kSafety) {
      GlobalShadow& shadow = *w.launch->global_shadow;
      if (allocation.kind != MemoryKind::constant) w.launch->races->access(race_access(w, op, window, request, request.mask, stored));
      if (stored != nullptr) {
        UndefinedBytes undefined = stored->undefined;
        if (undefined.any() != 0 && undefined.origin == 0) undefined.origin = undefined_origin(w, op, ShadowSpace::register_file, 0, 0);
        shadow.mark_stored(allocation, request.addresses, request.mask, 0, request.bytes, undefined);
      } else if (!GlobalShadow::all_written(allocation, request.addresses, request.mask, request.bytes)) {
        load_shadow(w, op, request.mask, ShadowSpace::global, *loaded, [&] { return shadow.first_unwritten(allocation, request.addresses, request.mask, request.bytes); },
                    [&] { return shadow.unwritten(allocation, request.addresses, request.mask, 0, request.bytes); });
      }
    }
    move(window, request, loaded, stored);
    return Flow::next;
  }

  static Flow in_global(Warp& w, const Op& op, const Request& request, LaneElements* loaded, const LaneElements* stored) {
    if (const std::uint32_t bad = lanes_misaligned(request.addresses, request.mask, request.bytes); bad != 0) return fault_misaligned(w, op, request, bad);
    if constexpr (kProfile)
      if (request.counts) count_global(w, op, request);
    for (std::uint32_t rest = request.mask; rest != 0;) {
      Allocation* allocation = w.launch->memory->find(request.addresses[static_cast<std::size_t>(std::countr_zero(rest))]);
      Request part = request;
      part.mask = allocation == nullptr ? 0 : lanes_inside(request.addresses, rest, {allocation->data, allocation->base, allocation->size, allocation}, request.bytes);
      if ((part.mask & rest & (~rest + 1)) == 0) {
        part.mask = lost_lane(w, request, rest);
        if (part.mask == 0) return fault_global(w, op, request, rest);
        move(lost_bytes(request, part.mask), part, loaded, stored);
        rest &= ~part.mask;
        continue;
      }
      if (const Flow flow = in_allocation(w, op, *allocation, part, loaded, stored); flow != Flow::next) return flow;
      rest &= ~part.mask;
    }
    return Flow::next;
  }

  static Flow run(Warp& w, const Op& op, const Request& request, LaneElements* loaded, const LaneElements* stored) {
    if (request.space == Space::shared) return in_shared(w, op, request, loaded, stored);
    if (request.space == Space::global) return in_global(w, op, request, loaded, stored);
    for (std::uint32_t rest = request.mask; rest != 0;) {
      const Request part = next_part(request, rest);
      const Flow flow = part.space == Space::shared ? in_shared(w, op, part, loaded, stored) : in_global(w, op, part, loaded, stored);
      if (flow != Flow::next) return flow;
    }
    return Flow::next;
  }
};

}  // namespace

template <Variant kVariant>
Flow load_elements(Warp& warp, const Op& op, const Request& request, LaneElements& elements) {
  return Elements<kVariant>::run(warp, op, request, &elements, nullptr);
}
template <Variant kVariant>
Flow store_elements(Warp& warp, const Op& op, const Request& request, const LaneElements& elements) {
  return Elements<kVariant>::run(warp, op, request, nullptr, &elements);
}

void count_elements(Warp& warp, const Op& op, const Request& request) {
  if (request.space == Space::shared) return count_shared(warp, op, request);
  if (request.space == Space::global) return count_global(warp, op, request);
  for (std::uint32_t rest = request.mask; rest != 0;) {
    const Request part = next_part(request, rest);
    part.space == Space::shared ? count_shared(warp, op, part) : count_global(warp, op, part);
  }
}

template Flow load_elements<Variant::plain>(Warp&, const Op&, const Request&, LaneElements&);
template Flow load_elements<Variant::safety>(Warp&, const Op&, const Request&, LaneElements&);
template Flow load_elements<Variant::profile>(Warp&, const Op&, const Request&, LaneElements&);
template Flow load_elements<Variant::all>(Warp&, const Op&, const Request&, LaneElements&);
template Flow store_elements<Variant::plain>(Warp&, const Op&, const Request&, const LaneElements&);
template Flow store_elements<Variant::safety>(Warp&, const Op&, const Request&, const LaneElements&);
template Flow store_elements<Variant::profile>(Warp&, const Op&, const Request&, const LaneElements&);
template Flow store_elements<Variant::all>(Warp&, const Op&, const Request&, const LaneElements&);

}  // namespace kforge::emulator
