// What the GPU did, by CUPTI's activity records: kernels, copies and fills with their streams and times. CUPTI is opened here at run time, and only when it
// is asked for: nothing of it is in the process while calls are timed.
//
// The record's first members have had one layout from CUDA 9 (kernels: CUpti_ActivityKernel4) to 13 (CUpti_ActivityKernel10, CUpti_ActivityMemcpy6,
// CUpti_ActivityMemset4; cupti_activity.h, cupti_activity_deprecated.h), and nothing else of it is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kforge::trial {

struct ActivityRecord {
  enum class Kind { kernel = 'k', copy = 'c', fill = 'f' };
  Kind kind = Kind::kernel;
  std::string name;                            // of a kernel, mangled
  std::uint32_t stream = 0;                    // CUPTI's number
  std::uint64_t start_ns = 0, end_ns = 0;      // on the device, by one clock
  std::uint64_t bytes = 0;                     // of a copy or a fill
  int copy_kind = 0;                           // CUpti_ActivityMemcpyKind: 1 host to device, 2 device to host, 8 device to device
  std::uint32_t value = 0;                     // of a fill
};

// Empty, or why CUPTI cannot be used here. `path`: of libcupti. Once in a process; from then on everything is recorded.
std::string start_activity(const std::string& path);

// What was recorded since the last call of this, in the order of delivery. REQUIRES: the device is quiet, and start_activity() went well.
std::vector<ActivityRecord> take_activity();

}  // namespace kforge::trial
