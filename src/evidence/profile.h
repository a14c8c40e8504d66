// What was counted while kernels ran: per kernel, and per source line. The emulator fills it from every address
// it sees; the GPU room fills it from Nsight Compute. `sampled` says that only some blocks ran: such a
// profile is evidence for performance contracts, never for safety or numerics.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/metric.h"
#include "evidence/source.h"

namespace kforge::evidence {

// Best first (contracts.md).
enum class Source : std::uint8_t { ncu, emulator, emulator_ptx, sass, ptxas, ptx };
std::string_view name(Source source);  // "ncu", "emulator", "emulator(ptx)", ...

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  bool operator==(const Dim3&) const = default;
};

// One warp's request that shows a fault: what each active lane asked for.
struct RequestExample {
  std::uint32_t active_mask = 0;
  std::uint32_t bytes_per_lane = 0;
  std::array<std::uint64_t, 32> lane_addresses{};  // shared: offset in the block's window; global: device address
  Dim3 block;                 // block index
  std::uint32_t warp = 0;     // warp index in the block
  std::uint32_t measured = 0; // sectors or wavefronts
  std::uint32_t ideal = 0;
  bool present() const { return active_mask != 0; }
};

// What a line's stores and atomics wrote of one allocation.
struct StoreRange {
  std::string tensor;                       // its name in the task; "" for any other memory
  std::uint64_t first = 0, end = 0;         // offsets in bytes: the lowest written, and past the highest
  std::uint64_t bytes = 0;                  // written in all, repetitions included
  std::vector<std::uint64_t> written;       // a bit a byte; empty where the allocation is large, or no other line stores to it
};

struct LineProfile {
  SourcePosition position;
  Counters counters;
  std::uint32_t global_bytes_per_lane = 0;  // widest global access of the line, bytes per lane
  bool global_contiguous = false;           // every full request's lanes were consecutive
  RequestExample worst_global;              // the request that wastes most sectors, if any wastes
  RequestExample worst_shared;              // the request with most extra wavefronts, if any
  std::vector<StoreRange> stores;           // to global memory
};

struct LaunchShape {
  Dim3 grid, block;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  bool operator==(const LaunchShape&) const = default;
};

// What one block loads from global memory, its warps taken to go on side by side: how often a sector comes again, and after how much else.
struct LoadReuse {
  static constexpr std::size_t kDistances = 24;
  std::uint64_t sectors = 0;        // of all requests; 0: no block was traced
  std::uint64_t first = 0;          // of them for the first time
  std::array<std::uint64_t, kDistances> again{};   // [k]: again, after fewer than 2^k other lines of 128 bytes and no fewer than 2^(k-1)
  // The share of the sectors that a cache of so many lines, oldest out first, does not hold.
  double miss_share(double lines) const;
};

struct KernelProfile {
  std::string kernel;               // mangled name, as in the PTX
  std::vector<LaunchShape> launches;  // distinct shapes, in order of first launch
  std::uint64_t launch_count = 0;
  Counters totals;
  std::vector<LineProfile> lines;
  double independent_loads = 1;     // loads of one warp in flight before the first use, mean over hot loads
  double loads_in_flight = 1;       // the same as the machine code has it: uses in a straight piece of code wait until all its loads are issued
  LoadReuse load_reuse;             // of one block of the first launch
  std::uint64_t hottest_line_passes = 0;   // passes of atomics through the 128-byte line that has most
  bool sampled = false;
  Source source = Source::emulator_ptx;
};

}  // namespace kforge::evidence
