// Xid errors: what NVIDIA's driver writes into the system's log when something goes wrong on a GPU, as a number.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kforge::gpu {

struct Xid {
  unsigned number = 0;
  std::string detail;            // the rest of the driver's line; "" where NVML alone told
  bool operator==(const Xid&) const = default;
};

struct XidMeaning {
  unsigned number;
  std::string_view words;        // "memory page fault"
  bool not_well;                 // the device is not to be used before it is reset or looked at
};
// NVIDIA's document "XID Errors", by number; null where it is not known here.
const XidMeaning* find_xid(unsigned number);

// "Xid 31 (memory page fault): pid=..., ..."; an unknown number is told as it is.
std::string describe(const Xid& xid);
bool is_not_well(const Xid& xid);

// Of one line of the system's log: "NVRM: Xid (PCI:0000:19:00): 31, pid=7, name=x, Ch 8". `pci` is the device's address as NVML has it ("00000000:19:00.0"), ""
// takes any. Nothing for other lines and devices.
std::optional<Xid> read_xid(std::string_view line, std::string_view pci);

// What the system's log says from now on (/dev/kmsg, $KFORGE_KERNEL_LOG): where this user may not read it there is nothing.
class KernelLog {
 public:
  KernelLog();
  ~KernelLog();
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;
  bool readable() const { return file_ >= 0; }
  std::vector<Xid> take(std::string_view pci);

 private:
  int file_ = -1;
};

}  // namespace kforge::gpu
