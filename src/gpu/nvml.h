// NVML, read only: what a GPU is and in what state. No clock, limit or mode of a card is ever changed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace kforge::gpu {

// Why the clocks are where they are (NVML API reference, nvmlClocksEventReasons).
inline constexpr std::uint64_t kPowerCap = 0x4, kHardwareSlowdown = 0x8, kThermalSlowdown = 0x20, kHardwareThermalSlowdown = 0x40, kPowerBrake = 0x80;
// A sample taken under one of these says more of the cooling than of the kernel.
inline constexpr std::uint64_t kSpoiling = kHardwareSlowdown | kThermalSlowdown | kHardwareThermalSlowdown | kPowerBrake;
std::vector<std::string> clock_reasons(std::uint64_t bits);   // in plain words

// At one moment. A figure that the driver does not give is 0.
struct State {
  double sm_mhz = 0, memory_mhz = 0, temperature_c = 0, power_w = 0;
  std::uint64_t clock_reasons = 0;
};

// What the driver says of a device's soundness; "" where nothing speaks against it, or nothing is told.
struct Health {
  bool lost = false;                       // it does not answer any more (nvmlReturn_t: GPU is lost, reset required)
  bool remap_failed = false;               // of a row of its memory
  std::uint64_t uncorrected_errors = 0;    // of its memory, since the driver was loaded
};

// Xid errors of one device from now on, as NVML's events have them. Where the driver tells of none, there are none.
class XidEvents {
 public:
  ~XidEvents();
  XidEvents(const XidEvents&) = delete;
  XidEvents& operator=(const XidEvents&) = delete;
  std::vector<unsigned> take(unsigned wait_ms);   // waits so long for the first one

 private:
  friend class Nvml;
  struct Set;
  explicit XidEvents(std::unique_ptr<Set> set);
  std::unique_ptr<Set> set_;
};

class Nvml {
 public:
  // Errors: missing (no library), failed (it finds no driver, or another version of it).
  static Expected<std::shared_ptr<const Nvml>> open();

  std::string driver_version() const;      // "580.159.04"
  int cuda_version() const;                // 13000; 0: not told
  unsigned count() const;
  // By the driver's UUID of the device, else by its index.
  void* device(const std::string& uuid, unsigned index) const;

  State state(void* device) const;
  std::string name(void* device) const;
  double max_sm_mhz(void* device) const, max_memory_mhz(void* device) const, power_limit_w(void* device) const;
  unsigned memory_bus_bits(void* device) const;
  bool mig(void* device) const;            // the card is cut into instances
  std::uint64_t uncorrected_errors(void* device) const;   // of its memory, since the driver was loaded
  unsigned other_processes(void* device) const;           // that compute on it, ours not counted
  Health health(void* device) const;
  std::string pci(void* device) const;     // "00000000:19:00.0"; "" where it is not told
  std::unique_ptr<XidEvents> watch_xids(void* device) const;   // null where the driver gives none

 private:
  friend class XidEvents;
  struct Functions;
  explicit Nvml(std::shared_ptr<const Functions> functions) : f_(std::move(functions)) {}
  std::shared_ptr<const Functions> f_;
};

}  // namespace kforge::gpu
