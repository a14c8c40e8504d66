// Occupancy against NVIDIA's own calculator, cuda_occupancy.h of the toolkit at hand, for every sheet over a dense grid.
#include <chrono>
#include <climits>
#include <iostream>

#include <gtest/gtest.h>

#include "hardware/data_sheet.h"
#include "hardware/occupancy.h"

#ifdef KFORGE_HAS_CUDA_OCCUPANCY
#include <cuda_occupancy.h>
#endif

namespace kforge::hardware {
namespace {

#ifndef KFORGE_HAS_CUDA_OCCUPANCY

TEST(OccupancyOracle, AgreesWithNvidia) {
  std::cerr << "\n*** SKIPPED: cuda_occupancy.h was not found when the tests were built; occupancy was NOT compared with "
               "NVIDIA's calculator. Install the CUDA 13.0 toolkit or the wheel nvidia-cuda-runtime. ***\n";
  GTEST_SKIP() << "cuda_occupancy.h is absent";
}

#else

cudaOccDeviceProp device_of(const DataSheet& s) {
  cudaOccDeviceProp p;
  p.computeMajor = s.compute_major;
  p.computeMinor = s.compute_minor;
  p.maxThreadsPerBlock = s.max_threads_per_block;
  p.maxThreadsPerMultiprocessor = s.max_threads_per_sm;
  p.regsPerBlock = s.max_registers_per_block;
  p.regsPerMultiprocessor = s.registers_per_sm;
  p.warpSize = 32;
  p.sharedMemPerBlock = static_cast<size_t>(s.shared_bytes_per_block);
  p.sharedMemPerMultiprocessor = static_cast<size_t>(s.shared_bytes_per_sm);
  p.numSms = s.multiprocessors;
  p.sharedMemPerBlockOptin = static_cast<size_t>(s.shared_bytes_per_block_optin);
  p.reservedSharedMemPerBlock = static_cast<size_t>(s.shared_reserved_per_block);
  return p;
}

struct Nvidia {
  cudaOccError status;
  cudaOccResult result;
};

Nvidia nvidia(const cudaOccDeviceProp& device, const KernelResources& r) {
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = INT_MAX;
  function.numRegs = r.registers_per_thread;
  function.sharedSizeBytes = static_cast<size_t>(r.static_shared_bytes);
  function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  function.maxDynamicSharedSizeBytes = static_cast<size_t>(r.dynamic_shared_bytes);
  function.numBlockBarriers = r.barriers;
  cudaOccDeviceState state;
  Nvidia n{};
  n.status = cudaOccMaxActiveBlocksPerMultiprocessor(&n.result, &device, &function, &state, r.threads_per_block,
                                                     static_cast<size_t>(r.dynamic_shared_bytes));
  return n;
}

unsigned bit_of(Limiter limiter) {
  switch (limiter) {
    case Limiter::warps: return OCC_LIMIT_WARPS;
    case Limiter::registers: return OCC_LIMIT_REGISTERS;
    case Limiter::shared: return OCC_LIMIT_SHARED_MEMORY;
    case Limiter::blocks: return OCC_LIMIT_BLOCKS;
    case Limiter::barriers: return OCC_LIMIT_BARRIERS;
    case Limiter::none: return 0;
  }
  return 0;
}

class Comparison {
 public:
  explicit Comparison(const DataSheet& sheet) : sheet_(sheet), device_(device_of(sheet)) {}

  void compare(const KernelResources& r) {
    ++points_;
    Nvidia theirs = nvidia(device_, r);
    Occupancy ours = occupancy(sheet_, r);
    bool same = theirs.status == CUDA_OCC_SUCCESS && theirs.result.activeBlocksPerMultiprocessor == ours.blocks_per_sm &&
                (theirs.result.limitingFactors & bit_of(ours.limiter)) != 0;
    if (same || ++differences_ > 5) return;
    ADD_FAILURE() << sheet_.name << ": registers " << r.registers_per_thread << ", static " << r.static_shared_bytes
                  << ", dynamic " << r.dynamic_shared_bytes << ", threads " << r.threads_per_block << ", barriers "
                  << r.barriers << ": NVIDIA (status " << theirs.status << ") "
                  << theirs.result.activeBlocksPerMultiprocessor << " blocks, limits " << theirs.result.limitingFactors
                  << "; ours " << ours.blocks_per_sm << " by " << name(ours.limiter);
  }
  std::uint64_t points() const { return points_; }

 private:
  const DataSheet& sheet_;
  cudaOccDeviceProp device_;
  std::uint64_t points_ = 0, differences_ = 0;
};

// Sizes at which an allocation step or a limit is crossed, and a coarse lattice between.
std::vector<int> shared_sizes(const DataSheet& s) {
  std::vector<int> sizes;
  for (int bytes = 0; bytes <= s.shared_bytes_per_block_optin; bytes += 4096)
    for (int off : {-1, 0, 1})
      if (bytes + off >= 0) sizes.push_back(bytes + off);
  for (int edge : {s.shared_bytes_per_block, s.shared_bytes_per_block_optin})
    for (int off : {-s.shared_reserved_per_block, -128, -1, 0, 1, 128}) sizes.push_back(edge + off);
  return sizes;
}

// Registers x threads exhaustively (every thread count), then shared memory in steps of 64 bytes, then the product of all
// three over the sizes at which something changes, with barriers.
TEST(OccupancyOracle, AgreesWithNvidia) {
  std::uint64_t points = 0;
  for (const std::string& name : sheet_names()) {
    auto sheet = find_sheet(name);
    ASSERT_TRUE(sheet) << to_string(sheet.error());
    Comparison comparison(*sheet);
    for (int threads = 1; threads <= 1025; ++threads)
      for (int registers = 0; registers <= 255; ++registers) comparison.compare({registers, 0, 0, threads});
    for (int bytes = 0; bytes <= sheet->shared_bytes_per_block_optin + 2048; bytes += 64)
      for (int threads : {1, 32, 96, 256, 1024}) {
        comparison.compare({32, bytes, 0, threads});
        comparison.compare({32, 1000, bytes, threads});
      }
    for (int bytes : shared_sizes(*sheet))
      for (int registers = 0; registers <= 255; registers += 15)
        for (int threads = 1; threads <= 1024; threads += 31) comparison.compare({registers, 0, bytes, threads});
    for (int barriers = 0; barriers <= 16; ++barriers)
      for (int threads = 1; threads <= 1024; threads += 31)
        for (int registers : {0, 24, 64, 255}) comparison.compare({registers, 0, 0, threads, barriers});
    points += comparison.points();
  }
  std::cout << "occupancy: " << points << " points compared with cuda_occupancy.h on " << sheet_names().size()
            << " data sheets\n";
  RecordProperty("points", static_cast<int>(points));
  EXPECT_GT(points, 5'000'000u);
}

#endif

}  // namespace
}  // namespace kforge::hardware
