// What texture and surface instructions share: handles, and access to texels as to global memory (lane_access.h).
#pragma once

#include "emulator/handlers.h"
#include "emulator/lane_access.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {

// No profile: see texture_ops.cc.
template <Variant kVariant>
inline constexpr Variant kWatched = Observes<kVariant>::safety ? Variant::safety : Variant::plain;

inline std::uint64_t handle_of(const Warp& w, const Op& op, std::uint32_t lanes) {
  return get<std::uint64_t>(w.at(op.r[1]), static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

// The lanes of `mask` whose handle is that of the lowest.
inline std::uint32_t lanes_of_first_handle(const Warp& w, const Op& op, std::uint32_t mask) {
  const std::uint64_t handle = handle_of(w, op, mask);
  std::uint32_t lanes = 0;
  for_lanes(mask, [&](std::uint32_t i) { lanes |= static_cast<std::uint32_t>(get<std::uint64_t>(w.at(op.r[1]), i) == handle) << i; });
  return lanes;
}

Flow fault_handle(Warp& warp, const Op& op, std::uint32_t lanes, std::uint64_t handle, std::string_view kind);

// `bytes` (1 to 8) of each lane at addresses[lane] + skip.
template <Variant kVariant>
Flow load_texel(Warp& w, const Op& op, std::uint32_t lanes, const LaneAddresses& addresses, std::uint32_t skip, std::uint32_t bytes, LaneElements& elements) {
  Request request;
  request.mask = lanes;
  request.bytes = bytes;
  request.space = ptx::Space::global;
  request.direction = Direction::load;
  for_lanes(lanes, [&](std::uint32_t i) { request.addresses[i] = addresses[i] + skip; });
  return load_elements<kWatched<kVariant>>(w, op, request, elements);
}

// Lanes whose result depends on an unwritten byte.
struct UndefinedLanes {
  std::uint32_t lanes = 0;
  OriginId origin = 0;
  void add(const UndefinedBytes& bytes) {
    if (bytes.any() == 0) return;
    lanes |= bytes.any();
    if (origin == 0) origin = bytes.origin;
  }
  UndefinedBytes as_register(std::uint32_t bytes = 4) const {
    UndefinedBytes all;
    all.origin = origin;
    for (std::uint32_t b = 0; b < bytes; ++b) all.lanes[b] = lanes;
    return all;
  }
};

}  // namespace kforge::emulator
