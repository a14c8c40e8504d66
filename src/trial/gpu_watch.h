// What the driver says of a GPU while one candidate after the other has it to itself: Xid errors, which are the candidate's that runs, and whether the device
// is well afterwards. Held together with lock_gpu. Where neither NVML's events nor the system's log can be read nothing is said.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "gpu/xid.h"
#include "trial/trial.h"

namespace kforge::trial {

class GpuWatch {
 public:
  explicit GpuWatch(const GpuOptions& gpu);

  // What came since the last call, in words to follow a fault's: "; the driver logs Xid 31 (memory page fault)". "" where nothing came. After a fault the driver's word
  // is waited for, a moment.
  std::string take(bool after_fault);

  // Errors: failed, when the device is lost, its memory cannot be trusted, or an Xid said that it must be reset: no answer about a candidate comes from it.
  Expected<void> well();

 private:
  std::vector<gpu::Xid> read(bool after_fault);
  const GpuOptions& gpu_;
  void* device_ = nullptr;
  std::string pci_;
  std::unique_ptr<gpu::XidEvents> events_;
  gpu::KernelLog log_;
  std::uint64_t errors_before_ = 0;
  std::string not_well_;         // the first Xid that said so
};

// Whether an error is well()'s: nothing more is to be judged on that device.
bool says_not_well(const Error& error);

}  // namespace kforge::trial
