// How many warps of a kernel one SM can hold, and what limits it: NVIDIA's rules (the occupancy chapter of the CUDA
// programming guide; checked against cuda_occupancy.h over a dense grid), from a data sheet.
#pragma once

#include <cstdint>
#include <string_view>

#include "hardware/data_sheet.h"

namespace kforge::hardware {

enum class Limiter : std::uint8_t { warps, registers, shared, blocks, barriers, none };
std::string_view name(Limiter limiter);

struct KernelResources {
  int registers_per_thread = 0;
  int static_shared_bytes = 0;
  int dynamic_shared_bytes = 0;
  int threads_per_block = 0;
};

struct Occupancy {
  int blocks_per_sm = 0;
  int warps_per_sm = 0;
  double fraction = 0;       // warps_per_sm / max_warps_per_sm
  Limiter limiter = Limiter::none;
};

// blocks_per_sm == 0: the kernel cannot be launched on this GPU; the limiter says why.
Occupancy occupancy(const DataSheet& sheet, const KernelResources& resources);

}  // namespace kforge::hardware
