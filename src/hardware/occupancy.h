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
  int barriers = 1;          // block barriers that the kernel names (`bar`), 1 for __syncthreads
};

struct Occupancy {
  int blocks_per_sm = 0;
  int warps_per_sm = 0;
  double fraction = 0;       // warps_per_sm / max_warps_per_sm
  Limiter limiter = Limiter::none;
};

// blocks_per_sm == 0: the kernel cannot be launched on this GPU; the limiter says why.
// Where several limits are equal, the limiter is the first of Limiter's order. The kernel is taken to have opted in to the
// shared memory that it uses, and the SM to give shared memory its largest share. Negative resources count as
// impossible to launch (limiter of that resource).
Occupancy occupancy(const DataSheet& sheet, const KernelResources& resources);

// Little's law: warps per SM that keep DRAM busy, that is (DRAM bytes/s per SM x DRAM latency) / bytes that one warp has in
// flight (bytes per request x independent requests before the first use), rounded up; at least 1 and not capped by what an
// SM holds. 0 when a warp has nothing in flight: then there is no DRAM traffic to cover.
int warps_to_cover_dram(const DataSheet& sheet, double bytes_in_flight_per_warp);
// The left side of it: bytes in flight per SM that saturate DRAM.
double dram_bytes_in_flight_per_sm(const DataSheet& sheet);

}  // namespace kforge::hardware
