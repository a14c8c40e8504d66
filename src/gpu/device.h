// The GPUs of this machine as the driver describes them. Reading takes no context: nothing runs on a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace kforge::gpu {

struct Device {
  unsigned index = 0;                    // as CUDA counts in this process
  std::string name;                      // "NVIDIA H200"
  std::string uuid;                      // "GPU-01234567-89ab-cdef-0123-456789abcdef"
  int compute_major = 0, compute_minor = 0;
  int sm() const { return compute_major * 10 + compute_minor; }
  std::uint64_t memory_bytes = 0;
  int multiprocessors = 0;
  double sm_mhz = 0, memory_mhz = 0;     // highest; 0: not told
  int memory_bus_bits = 0;
  std::uint64_t l2_bytes = 0;
  int max_threads_per_block = 0, max_threads_per_sm = 0, max_blocks_per_sm = 0;
  int registers_per_block = 0, registers_per_sm = 0;
  int shared_bytes_per_block = 0, shared_bytes_per_block_optin = 0, shared_bytes_per_sm = 0, shared_reserved_per_block = 0;
};

struct Driver {
  std::string version;                   // "580.159.04"; "" when NVML does not tell
  int cuda = 0;                          // newest CUDA that it serves: 13000
  std::string library;                   // path of libcuda
  std::vector<Device> devices;
};

// Errors: missing (no driver, no GPU), failed (the driver cannot be used), each saying what to do.
Expected<Driver> read_driver();

// One GPU. Errors: as read_driver; bad_input when there are fewer.
Expected<Device> find_device(const Driver& driver, unsigned index);

inline constexpr int kNeededCuda = 13000;   // of libcudart.so.13, against which candidates are built
// Empty, or why candidates cannot run with this driver.
std::string too_old(const Driver& driver);

}  // namespace kforge::gpu
