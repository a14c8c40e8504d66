// One running grid and what is known of it. Handlers reach it through Warp::launch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "emulator/code.h"
#include "emulator/lane_shape.h"
#include "emulator/load_trace.h"
#include "emulator/race.h"
#include "emulator/request.h"
#include "emulator/shadow.h"
#include "emulator/warp.h"
#include "evidence/launch_log.h"

namespace kforge::emulator {

// What one op stored to one allocation: between which offsets in bytes, and how much in all.
struct StoreTarget {
  const Allocation* allocation = nullptr;
  std::uint64_t first = 0, end = 0;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> written = {};   // a bit a byte, of allocations that are small enough (store_notes.h)
};

// What an op did, when the profile is on. The first two are counted by the loop, the rest by its handler.
struct OpProfile {
  std::uint64_t executions = 0, lanes = 0;   // lanes: those whose guard held
  std::uint64_t active_lanes = 0;            // whatever their guards
  std::uint64_t requests = 0;
  std::uint64_t sectors = 0, sectors_ideal = 0, sectors_aligned_ideal = 0, distinct_bytes = 0;
  std::uint64_t partial_sectors = 0, l1_cycles = 0, atomic_passes = 0, shared_atomic_repeats = 0;
  std::uint64_t shared_requests = 0, wavefronts = 0, wavefronts_ideal = 0;
  std::uint64_t local_requests = 0;
  std::uint64_t divergent = 0;
  std::vector<StoreTarget> stores;
  std::uint32_t scattered = 0;          // full requests whose lanes were not consecutive
  std::uint32_t worst_global_waste = 0, worst_shared_waste = 0;
  std::unique_ptr<evidence::RequestExample> worst_global, worst_shared;
};

// What an op remembers of its last request.
struct AccessMemo {
  const LaneShape* shape = nullptr;     // of a full warp; always simple
  Allocation* allocation = nullptr;     // of a global access
  std::uint32_t new_shapes = 0, misses = 0;
  std::array<std::uint32_t, 2> reading{};   // of a clock: address_ops.cc
};

// First violation of each (contract, kind, line), with a count.
class ViolationLog {
 public:
  // The entry to fill in when this is the first of its kind; null otherwise (the count was raised).
  evidence::Violation* add(std::string_view contract, std::string_view kind, const std::string& kernel, std::uint32_t location);
  // Takes over what another log has.
  void adopt(ViolationLog& other);
  std::vector<evidence::Violation> take();
  const std::vector<evidence::Violation>& all() const { return violations_; }
  bool empty() const { return violations_.empty(); }

 private:
  std::map<std::tuple<std::string, std::string, std::string, std::uint32_t>, std::size_t> index_;
  std::vector<evidence::Violation> violations_;
};

// A thread's coordinates in its block.
evidence::Dim3 thread_index(const evidence::Dim3& block, std::uint32_t linear);

// Passes of atomics through each 128-byte line of global memory, as far as it can be remembered.
class AtomicLines {
 public:
  void add(const LaneAddresses& addresses, std::uint32_t mask);
  std::uint64_t most() const;

 private:
  static constexpr std::size_t kMostLines = 4096;
  std::unordered_map<std::uint64_t, std::uint64_t> passes_;
};

struct Team;

struct Launch {
  const Kernel* kernel = nullptr;
  Memory* memory = nullptr;
  const TextureTable* textures = nullptr;
  const hardware::DataSheet* sheet = nullptr;
  evidence::Dim3 grid, block_size, cluster;
  std::uint32_t threads_per_block = 0;
  std::uint32_t shared_bytes = 0, dynamic_shared_bytes = 0;
  Variant variant = Variant::plain;
  bool safety = false, profile = false;
  bool forgiving = false;                        // Checks::forgiving
  Allocation* parameters = nullptr;
  SlotBytes uniforms;                            // Bank::launch
  std::vector<OpProfile> ops;                    // by pc; empty unless profile
  const SegmentCode* segments = nullptr;         // of the kernel, for the variant
  std::vector<std::uint64_t> segment_runs;       // profile: whole runs of each
  std::vector<AccessMemo> memos;                 // by pc
  LoadTrace* trace = nullptr;                    // of block `traced_block`; null: none is traced
  std::uint64_t traced_block = 0;
  AtomicLines* atomic_lines = nullptr;           // when the profile is on
  ShapePool shapes;
  ViolationLog* violations = nullptr;
  RaceDetector* races = nullptr;
  Footprint* footprint = nullptr;                // null: nobody asks for it
  std::uint64_t race_shadow_bytes = 0;           // of each detector
  GlobalShadow* global_shadow = nullptr;
  OriginTable* origins = nullptr;
  std::function<void(std::string_view)> print;
  std::uint64_t* device_heap = nullptr;

  LaunchStatus status = LaunchStatus::ok;
  std::string detail;
  std::uint64_t stores = 1;                      // changes of memory: see run_warp.cc
  std::uint64_t thread_instructions = 0;
  std::uint64_t warpgroup_tiles = 0;             // of 16 rows, 8 columns and 32 bytes along the depth, multiplied by wgmma
  Team* team = nullptr;                          // of a worker: see team.h
  std::uint64_t told = 0;                        // thread-instructions that the team or somebody outside knows of
  std::uint64_t clock = 0;                       // warp instructions so far: what %clock reads
  std::uint64_t instruction_limit = 0;           // of this launch; 0: none
  double seconds_limit = 0;
  std::uint64_t* progress = nullptr;             // Limits::progress
  std::uint64_t instructions_before = 0;         // of earlier launches under the same limits

  bool failed() const { return status != LaunchStatus::ok; }
  const evidence::SourcePosition& where(std::uint32_t location) const { return kernel->module->locations[location]; }
};

// Records a violation at `op` for the lowest lane of `lanes`; fills everything but the texts, which `describe` adds when it
// is the first of its kind.
void report(Warp& warp, const Op& op, std::uint32_t lanes, std::string_view contract, std::string_view kind,
            const std::function<void(evidence::Violation&)>& describe);
// Ends the launch as a GPU does after a fatal error. Returns what the handler is to return.
Flow stop(Warp& warp, const Op& op, std::uint32_t lanes, LaunchStatus status, std::string what);

// "kernel.cu:12" or "PTX line 7".
std::string place(const Launch& launch, const Op& op);

}  // namespace kforge::emulator
