// What one block of a launch loads from global memory, request by request. Blocks run here one warp after the other, far from how they share an
// L1 on a GPU; so the requests are recorded, put side by side (the first of each warp, the second of each, ...), and only then asked
// how much else was loaded between two uses of a line. Costs nothing to the other blocks but a test of a pointer.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/request.h"
#include "evidence/profile.h"

namespace kforge::emulator {

class LoadTrace {
 public:
  // Forgets what was recorded, for a block of so many warps.
  void begin(std::uint32_t warps);
  // `bytes` per lane, no more than a sector. What comes after the first 2^19 sectors is left out.
  void add(std::uint32_t warp, const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes);
  evidence::LoadReuse reuse() const;

 private:
  struct Request { std::size_t first = 0, end = 0; };   // in sectors_
  std::vector<std::vector<Request>> warps_;
  std::vector<std::uint64_t> sectors_;                  // numbers of 32-byte sectors, repetitions in a row left out
};

}  // namespace kforge::emulator
