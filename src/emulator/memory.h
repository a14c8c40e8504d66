// The emulated GPU's global memory: byte-exact allocations with unmapped gaps, each with its shadows.
//
// A device address is the host address of the backing bytes plus kDeviceOffset, which makes it non-canonical:
// host code that dereferences a device pointer crashes, as it does with a GPU. Managed and pinned memory are mapped
// at their host address (offset 0). Constants and module variables live here too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kforge::emulator {

using Address = std::uint64_t;
inline constexpr Address kDeviceOffset = Address{1} << 48;

enum class MemoryKind : std::uint8_t { device, managed, pinned, module_variable, constant };

struct Allocation {
  Address base = 0;            // device address of the first byte
  std::uint64_t size = 0;      // exact
  std::byte* data = nullptr;   // host address of the backing bytes
  MemoryKind kind = MemoryKind::device;
  bool live = true;            // freed allocations stay listed (for the message), their bytes unmapped
  bool read_only = false;      // constants
  bool foreign = false;        // the program's own host memory, registered: not ours to unmap
  std::string label;           // "x", "y", "workspace", a variable's name: used in messages
  std::uint64_t serial = 0;    // order of allocation

  // Shadows, one bit a byte of the allocation, in words of 64; empty until needed.
  // initialised: all_initialised short-cuts it.
  bool all_initialised = false;
  std::vector<std::uint64_t> initialised;
  std::vector<std::uint64_t> written;        // by kernels since the last clear (launch.coverage)
  std::vector<std::uint64_t> host_written;   // by copies from the host since the last clear
  struct RaceCell;                           // race.h
  // Owned by race engines, one for each that may run at a time: the device's and those of the workers of a team.
  static constexpr std::size_t kRaceEngines = 17;
  std::array<RaceCell*, kRaceEngines> race_cells{};
};

class Memory {
 public:
  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // 256-byte aligned base; never returns a freed address again while `Memory` lives; null when size exceeds what is left.
  Allocation* allocate(std::uint64_t size, MemoryKind kind, std::string label = {});
  // Makes memory of the host known under its own address, as pinned memory, until free(). Null when it overlaps a live allocation.
  Allocation* adopt(std::byte* data, std::uint64_t size, std::string label);
  // False when `base` is not the start of a live allocation.
  bool free(Address base);
  // The live allocation that contains the address; null when none. O(log n); callers cache the result.
  Allocation* find(Address address);
  // The live or freed allocation nearest to the address, for messages; null when there is none.
  const Allocation* nearest(Address address) const;
  std::vector<Allocation*> live();
  std::uint64_t bytes_in_use() const;
  void set_capacity(std::uint64_t bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kforge::emulator
