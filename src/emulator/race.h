// Data races, found by happens-before: two accesses to the same byte, at least one a write, not both strong, with no chain of
// program order, barriers, warp synchronisation, fences and strong accesses between them (PTX manual, "Memory Consistency
// Model"). Nothing is said of timing: a race is found whatever order the schedule happened to run the two in.
//
// Strong accesses (atomics, volatile, relaxed/acquire/release) never race with each other, unless one is strong for its own block only
// (.cta) and the other is another block's. A plain access to a location comes
// after all strong writes there that an atomic of the same thread (or one known to have happened before) on that same location
// came after: coherence orders them, so that the last block may set its counter back with a plain store. A read that was over when
// a relaxed flag was set comes before the writes that waited for that flag (race_relaxed.h). Stores of the same value race only
// as advice. Bytes are told apart: neighbours inside a word are no race. Lanes of a warp are threads like others: between two
// instructions only bar.warp.sync orders them (shuffles and votes do not); within one instruction, lanes that store different
// values to one byte race.
//
// Two engines, picked per launch by RaceMode:
//   epochs         only block barriers and full warp synchronisation order anything. A cell per granule holds one word an
//                  access kind: clock, location, thread, "many". Barrier interval as epoch; a few instructions a lane.
//   vector clocks  named barriers, fences, acquire/release, partial warp masks: what each thread knows of each other is
//                  kept (shared between threads that know the same), and flags carry it (sync objects).
// Cells of global memory exist only for the 4 KiB chunks that a launch touches; full-warp consecutive accesses keep one cell
// for all 32 lanes (a row). Shadow memory is capped: past the cap accesses go unchecked and `unchecked_accesses` says so.
//
// Order of calls for one warp instruction: stores BEFORE the memory is changed (the old value is compared); loads and atomics
// when they are performed, atomics with the lanes that really wrote (a failed compare-and-swap reads only).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "emulator/memory.h"
#include "emulator/race_proxy.h"
#include "emulator/request.h"
#include "ptx/module.h"

namespace kforge::emulator {

// What a kernel (with all functions it may call) contains. All false: the epoch engine serves.
struct RaceMode {
  bool named_barriers = false;       // bar.sync/arrive/red with an id other than 0 or with a thread count; barrier.cluster
  bool fences = false;               // membar, fence, and any ld/st/atom/red with .acquire/.release/.acq_rel/.sc
  bool partial_warp_syncs = false;   // bar.warp.sync whose mask is not the constant -1
  bool sync_objects = false;         // mbarrier and other instructions that the executor reports by release()/acquire()
  bool async_proxy = false;          // bulk copies and wgmma: what proxy fences order is watched
  bool relaxed_flags = false;        // strong stores and strong loads (not atomics) outside shared memory
  bool block_scopes = false;         // strong accesses of scope .cta outside shared memory
  bool needs_vector_clocks() const { return named_barriers || fences || partial_warp_syncs || sync_objects || relaxed_flags || block_scopes; }
};

enum class AccessKind : std::uint8_t { load, store, atomic };  // atomic: atom and red

// The values a store is about to write: element e of lane l lies at element[e] + l * lane_stride, element_bytes each.
struct StoredValues {
  std::array<const std::byte*, 8> element{};
  std::uint32_t element_bytes = 0;
  std::uint32_t lane_stride = 0;
};

class Footprint;     // footprint.h
struct BlockRaces;   // one resident block, as the engine keeps it

// One warp instruction's accesses to one window: the shared window of `block`, or one allocation.
struct RaceAccess {
  BlockRaces* block = nullptr;
  std::uint32_t warp = 0;                    // in the block; thread = 32 * warp + lane
  std::uint32_t mask = 0;                    // executing lanes
  std::uint32_t bytes = 0;                   // per lane: 1, 2, 4, 8, 16 or 32; addresses are aligned to it
  const LaneAddresses* addresses = nullptr;  // shared: offset in the window; global: device address inside `allocation`
  Allocation* allocation = nullptr;          // null: shared
  BlockRaces* window = nullptr;              // shared: the block whose it is; null: `block`
  const std::byte* memory = nullptr;         // stores: host bytes of the window's first byte (shared) or of the allocation
  StoredValues values;                       // stores only; element_bytes 0: unknown, counts as different
  std::uint32_t location = 0;                // index into Module::locations; values of 2^20 and up are reported as 0
  AccessKind kind = AccessKind::load;
  bool strong = false;                       // volatile, relaxed, acquire, release; atomics always are
  ptx::Order order = ptx::Order::none;       // volatile_ and none count as relaxed for strong accesses
  ptx::Scope scope = ptx::Scope::none;       // none: gpu for atomics, sys for volatile
  std::uint32_t wrote = ~0u;                 // atomics: lanes that changed or may have changed memory (not a failed cas)
};

struct LaneShape;
// A plain access of a full warp whose shape is known.
struct ShapedAccess {
  BlockRaces* block = nullptr;
  const LaneShape* shape = nullptr;
  std::uint64_t base = 0;            // address of lane 0, as in RaceAccess
  Allocation* allocation = nullptr;  // null: shared
  std::uint32_t warp = 0;
  std::uint32_t location = 0;
  bool store = false;
};

struct RaceParty {
  std::uint32_t block = 0;      // linear block index; kUnknown: several, not remembered
  std::uint32_t thread = 0;     // linear thread index in its block; kUnknown likewise
  std::uint32_t location = 0;   // index into Module::locations
  bool write = false;
  bool strong = false;
  static constexpr std::uint32_t kUnknown = ~0u;
};

// `missing_acquire` (always advice): ordered only if an atomic's result that passed a block barrier counts as acquired; the
// flag's writer published properly, the reader has no fence. Works on today's hardware, not promised by the model.
// `scope`: both are strong, one of them for its own block only (.cta), and they are of two blocks.
enum class RaceKind : std::uint8_t { write_write, read_write, write_read, same_value, missing_acquire, scope };
// Violation::kind: "race-write-write", "race-read-write", ...
std::string_view name(RaceKind kind);

// One pair of source locations; the first occurrence is described.
struct Race {
  RaceKind kind = RaceKind::write_write;
  bool advice = false;          // same_value, missing_acquire
  bool shared = false;          // shared memory; else global
  bool across_blocks = false;
  RaceParty first, second;      // in the order in which they ran here; `second` completed the pair
  std::uint64_t address = 0;    // first byte in conflict: offset in the shared window, or device address
  std::uint32_t bytes = 0;      // per lane, of `second`
  std::uint64_t count = 0;      // lane accesses that met this pair
};

struct RaceStats {
  std::uint64_t shadow_bytes = 0;          // now held for cells
  std::uint64_t peak_shadow_bytes = 0;
  std::uint64_t unchecked_accesses = 0;    // lane accesses not checked because the cap was reached
};

class RaceEngine;  // epochs or vector clocks (race_epochs.h, race_clocks.h)

class RaceDetector {
 public:
  // `index`: of the engine among those that run at a time (Allocation::race_cells).
  explicit RaceDetector(std::uint64_t max_shadow_bytes = std::uint64_t{2} << 30, std::uint32_t index = 0);
  ~RaceDetector();
  RaceDetector(const RaceDetector&) = delete;
  RaceDetector& operator=(const RaceDetector&) = delete;

  void set_max_shadow_bytes(std::uint64_t bytes);   // from the next launch on

  // Launches are ordered among each other (one runs at a time): each begins with nothing remembered. `threads_per_block`
  // up to 1024.
  void begin_launch(const RaceMode& mode, std::uint32_t threads_per_block);
  void end_launch();                       // frees all cells; races stay until taken

  // A block becomes resident: `shared_bytes` is the whole window, static and dynamic.
  BlockRaces* begin_block(std::uint32_t linear_block, std::uint32_t shared_bytes);
  void end_block(BlockRaces* block);       // all its threads exited; the handle is dead

  void access(const RaceAccess& access);
  void async_access(const RaceAccess& access);   // of a bulk copy or wgmma: through the async proxy
  // The short way of the same. False: nothing was done, and access() must be told; true: there is no race.
  bool access_shape(const ShapedAccess& access);
  void replay_reads(BlockRaces* block);   // the log of BlockRaces::reads is full

  // bar.sync 0 by all live threads. The epoch engine ignores who took part.
  void block_barrier(BlockRaces* block);
  // A named barrier (or barrier 0 with a count) has completed. `arrived`: per warp, the lanes that took part (arrivers and
  // waiters); `waited`: those among them that waited (not bar.arrive). Both have one word a warp of the block.
  void named_barrier(BlockRaces* block, std::span<const std::uint32_t> arrived, std::span<const std::uint32_t> waited);
  // For arrivers that run on before the barrier completes, call this when they arrive and leave them out of `arrived`: the
  // knowledge they had then is kept under `barrier` until the next named_barrier_complete of it.
  void barrier_arrive(BlockRaces* block, std::uint32_t barrier, std::uint32_t warp, std::uint32_t mask);
  void named_barrier_complete(BlockRaces* block, std::uint32_t barrier, std::span<const std::uint32_t> waited);

  // bar.warp.sync completed. `mask`: the lanes that the instruction names (exited ones may be included).
  void warp_sync(BlockRaces* block, std::uint32_t warp, std::uint32_t mask);
  // A shuffle orders nothing, but what one lane has acquired from other warps the others have with its value: cooperative groups wait so.
  void shuffle(BlockRaces* block, std::uint32_t warp, std::uint32_t mask);
  // membar and fence (any order): scope cta, cluster, gpu or sys.
  void fence(BlockRaces* block, std::uint32_t warp, std::uint32_t mask, ptx::Scope scope);

  // Other synchronisation objects, by any key that is unique in the launch (mbarrier: the block's base plus its offset). release: the lanes' knowledge goes in;
  // acquire: it comes out. E.g. mbarrier.arrive releases, a successful test_wait/try_wait acquires, and so do cluster barriers.
  void release(BlockRaces* block, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope);
  void acquire(BlockRaces* block, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope);
  // A relaxed arrival: what goes in is what each lane's last fence of that scope covered.
  void release_fenced(BlockRaces* block, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope);

  // fence.proxy.async by the lanes, for shared memory.
  void proxy_fence(BlockRaces* block, std::uint32_t warp, std::uint32_t mask);
  // What the thread may not read of the block's shared memory through the async proxy; nullopt: nothing, or it is not watched.
  std::optional<UnfencedWrite> unfenced_write(const BlockRaces* block, std::uint32_t thread, std::uint64_t offset, std::uint64_t bytes) const;

  std::vector<Race> take_races();
  bool found_any() const;          // races not yet taken
  bool uses_epochs() const;        // in this launch
  // Whether some byte of global memory was written under one detector and touched under the other in this launch. Both use epochs.
  bool conflicts_with(const RaceDetector& other) const;
  // Adds what the launch that runs has touched of global memory so far; nothing between launches.
  void add_to(Footprint& footprint) const;
  RaceStats stats() const;

 private:
  std::unique_ptr<RaceEngine> engine_;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kforge::emulator
