// Memory seen from instructions that spread the accesses of a warp in their own way (matrices): one element a lane, through the same
// windows, faults and observers as ld and st (memory_ops.cc).
#pragma once

#include <array>

#include "emulator/access.h"
#include "emulator/shadow.h"

namespace kforge::emulator {

struct LaneElements {
  std::array<std::uint64_t, 32> value{};
  UndefinedBytes undefined;              // what of it was never written
};

// request.space: what the instruction says; request.bytes: 1 to 8, of the element. `load` fills `elements` for the lanes of the
// mask. Flow::next: done; else the access was a fault and the handler returns it.
template <Variant kVariant>
Flow load_elements(Warp& warp, const Op& op, const Request& request, LaneElements& elements);
template <Variant kVariant>
Flow store_elements(Warp& warp, const Op& op, const Request& request, const LaneElements& elements);

// Counts an access that the machine makes in one piece where elements are moved in several (whose requests do not count).
void count_elements(Warp& warp, const Op& op, const Request& request);

}  // namespace kforge::emulator
