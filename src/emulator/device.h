// The emulated GPU: memory, loaded modules, and launches of their kernels on this CPU.
//
// launch() runs a grid to its end (or to a limit) and returns what the observers saw. Observers are
// compile-time options of the executor: `Checks` picks one of the compiled variants, and what is off costs nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "emulator/memory.h"
#include "emulator/texture.h"
#include "evidence/launch_log.h"
#include "hardware/data_sheet.h"
#include "ptx/module.h"

namespace kforge::emulator {

struct Checks {
  bool safety = true;       // bounds, alignment, uninitialised, races, barriers
  // Loads and stores outside allocations that a GPU, which sees pages and not allocations, would not notice either are no faults: see
  // lost_lane (access.h). Only without safety.
  bool forgiving = false;
  bool profile = true;      // counters per line, sectors, wavefronts, divergence, coverage
  std::uint64_t race_shadow_bytes = std::uint64_t{2} << 30;   // past that, accesses go unchecked: LaunchLog::unproven says so
};

struct Limits {
  std::uint64_t thread_instructions = 0;   // 0: none. Both must be exceeded (contracts.md): instructions and seconds
  double seconds = 0;
  std::uint64_t* progress = nullptr;       // kept at the thread-instructions so far, for whoever watches from outside; may be null
};

struct Kernel;                // a decoded entry function; owned by its LoadedModule
struct LoadedModule;
class GlobalShadow;           // shadow.h
class Footprint;              // footprint.h

struct KernelInfo {           // what cudaFuncGetAttributes and the launch need
  std::string name;
  std::vector<std::uint32_t> parameter_offsets, parameter_sizes;   // bytes in the parameter buffer
  std::uint32_t parameter_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t local_bytes = 0;
  std::uint32_t max_threads_per_block = 1024;   // from .maxntid / .reqntid
};

struct LaunchRequest {
  const Kernel* kernel = nullptr;
  evidence::Dim3 grid, block, cluster;
  std::uint32_t dynamic_shared_bytes = 0;
  std::span<const std::byte> parameters;        // laid out as KernelInfo says
  bool cooperative = false;
  std::uint64_t sampled_blocks = 0;             // 0: all. Else so many blocks, spread over the grid, seeded
  Footprint* footprint = nullptr;               // takes what the launch touches, where Checks::safety is on; null: not wanted
};

enum class LaunchStatus : std::uint8_t {
  ok,
  illegal_address, misaligned_address, illegal_instruction, trap, assert_failed, stack_overflow,   // sticky on a GPU
  hang, limit,
};

struct LaunchResult {
  LaunchStatus status = LaunchStatus::ok;
  std::string detail;                           // one line for people
  std::uint64_t thread_instructions = 0;
  double seconds = 0;
};

class Device {
 public:
  explicit Device(hardware::DataSheet sheet);
  ~Device();

  const hardware::DataSheet& sheet() const;
  Memory& memory();
  // The objects that kernels' texture and surface instructions may name.
  TextureTable& textures();
  // Which bytes of global memory were written: host copies and memset tell it (mark_range, copy_shadow).
  GlobalShadow& global_shadow();

  // Decodes all functions, allocates and initialises module variables. Errors: unsupported (an instruction that the
  // emulator does not execute is an error only when a kernel that may reach it is launched), bad_input.
  // `shortcuts` false: only the handlers that know every case, for tests that compare.
  Expected<LoadedModule*> load(std::shared_ptr<const ptx::Module> module, bool shortcuts = true);
  void unload(LoadedModule* module);
  const Kernel* find_kernel(const LoadedModule* module, std::string_view name) const;
  Allocation* find_variable(LoadedModule* module, std::string_view name);
  static const KernelInfo& info(const Kernel* kernel);

  void set_checks(Checks checks);
  void set_limits(Limits limits);               // of the case: consumed by all launches until set again
  void set_seed(std::uint64_t seed);            // of the warp schedule
  void set_workers(std::uint32_t workers);      // host threads that run blocks of a launch; 0 (the default): one a core
  LaunchResult launch(const LaunchRequest& request);

  // The host, or the task, is about to read [offset, offset + bytes): reports undefined values that kernels stored there
  // (safety.uninitialised, at the line that first read them). `reader` is put in the message: "output `y`", "a copy to the host".
  void check_read(const Allocation& allocation, std::uint64_t offset, std::uint64_t bytes, std::string_view reader);

  // Evidence gathered since the last take: kernels, violations, printf output, instruction count. (calls, coverage and
  // changed_inputs are the runtime's to fill.)
  evidence::LaunchLog take_log();
  evidence::LaunchLog peek_log() const;         // the same, and it stays
  std::size_t violation_count() const;
  // Called with device printf text as it is produced; default: kept in the log only.
  void on_print(std::function<void(std::string_view)> sink);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kforge::emulator
