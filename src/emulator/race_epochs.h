// The epoch engine. Each block counts barrier intervals, each warp its synchronisations within the interval; both are one
// clock: a barrier sets all warps' clocks past the largest. An access is one word: clock, location, "many", thread, clock on
// top, so that "ordered before every thread of the block" is one comparison with the clock of the last barrier.
//
// Where several threads made unordered reads (or strong accesses), `many` says how far apart the two that we know of are. That
// is enough here: once two warps read in one interval, any writer in the interval is unordered with at least one of them,
// and after the next barrier with none. Blocks are never ordered with each other.
//
// race_epochs.cc has accesses by address, race_epoch_shapes.cc those whose lanes' shape is known, and engines side by side.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "emulator/race_engine.h"
#include "emulator/race_requests.h"

namespace kforge::emulator::epochs {

enum Many : std::uint64_t { kOne, kLanes, kWarps, kBlocks };
inline constexpr int kClockAt = 33, kLocationAt = 13, kUpdateAt = 12;
inline constexpr Slot kThreadMask = (1u << kManyAt) - 1;
inline constexpr std::uint32_t kClockRestart = 1u << 30;

inline std::uint32_t location_of(Slot slot) { return static_cast<std::uint32_t>(slot >> kLocationAt) & kMaxLocation; }
inline Many many_of(Slot slot) { return static_cast<Many>(slot >> kManyAt & 3); }
inline std::uint32_t thread_of(Slot slot) { return static_cast<std::uint32_t>(slot & kThreadMask); }
inline Slot with_many(Slot slot, Many many) { return (slot & ~(Slot{3} << kManyAt)) | static_cast<Slot>(many) << kManyAt; }

struct SharedCell {
  Slot slot = 0;
};
struct EpochBlock : BlockRaces {
  std::uint32_t barrier_clock = 0;                 // accesses up to here are ordered before all threads
  CellChunk<SharedCell> shared;
};

// What one request needs to know of the accesses it meets.
struct Here {
  const RaceAccess* access;   // null: of a known shape
  bool load;
  std::uint32_t block;
  std::uint32_t warp;
  Slot block_limit;   // below: ordered before all threads of the block
  Slot warp_limit;    // below, and of this warp: ordered before this warp's lanes
  Slot stamp;         // clock and location of this access
  std::uint32_t request = 0;                // global: which of Requests this access is
  // Runs of cells remember one request; 0: none. PackedCell::bits >> 5 ...
  mutable std::uint32_t ordered_before = 0;   // that is known to be ordered before all lanes
  mutable std::uint32_t met = 0, merged = 0;  // whose "many" becomes `merged` whichever lane joins it
};

inline void add_lane(SharedCell& cell, std::uint32_t lane) { cell.slot += cell.slot != 0 ? lane : 0; }
inline void add_lane(PackedCell& cell, std::uint32_t lane) { cell.bits += cell.bits != 0 ? lane : 0; }

inline bool other_block(const SharedCell&, const Here&) { return false; }
inline bool other_block(const GlobalCell& cell, const Here& here) { return cell.slot != 0 && cell.block != here.block; }
inline std::uint32_t block_of(const SharedCell&, const Here& here) { return here.block; }
inline std::uint32_t block_of(const GlobalCell& cell, const Here&) { return cell.block; }

template <class Cell>
bool is_ordered(const Cell& cell, std::uint32_t thread, const Here& here) {
  if (many_of(cell.slot) == kBlocks || other_block(cell, here)) return false;
  if (cell.slot < here.block_limit) return true;
  if (many_of(cell.slot) == kWarps || thread_of(cell.slot) / 32 != here.warp) return false;
  return cell.slot < here.warp_limit || (many_of(cell.slot) == kOne && thread_of(cell.slot) == thread);
}

// The latest of a cell's strong writes is an atomic that happened before this plain access: coherence puts the others before
// that atomic.
template <class Cell>
bool follows_update(Cell latest, std::uint32_t thread, const Here& here) {
  latest.slot = with_many(latest.slot, kOne);
  return (latest.slot >> kUpdateAt & 1) != 0 && is_ordered(latest, thread, here);
}

// Adds an access to those remembered that may run at the same time. False: the cell stays as it is.
template <class Cell>
bool merge(Cell& cell, std::uint32_t thread, const Here& here) {
  const Slot mine = here.stamp | thread;
  if (many_of(cell.slot) == kBlocks) {
    if (here.load) return false;
    cell.slot = with_many(mine, kBlocks);   // strong writes: the latest is kept, for follows_update
    return true;
  }
  if (is_ordered(cell, thread, here)) {
    cell.slot = mine;
  } else if (other_block(cell, here)) {
    cell.slot = with_many(mine, kBlocks);
  } else if (many_of(cell.slot) <= kLanes && thread_of(cell.slot) / 32 == here.warp) {
    cell.slot = with_many(mine, kLanes);
  } else {
    cell.slot = with_many(mine, kWarps);
  }
  return true;
}

class EpochEngine final : public RaceEngine {
 public:
  EpochEngine(std::uint32_t threads, RaceLog& log, RaceStats& stats, std::uint64_t cap, std::uint32_t index)
      : threads_(threads), log_(log), stats_(stats), cells_(stats, cap, index) {}

  BlockRaces* begin_block(std::uint32_t linear, std::uint32_t shared_bytes) override;
  void end_block(BlockRaces* block) override { free_.push_back(static_cast<EpochBlock*>(block)); }
  void access(const RaceAccess& access) override;
  bool access_shape(const ShapedAccess& access) override;
  void replay_reads(BlockRaces* block) override;
  bool conflicts_with(const RaceEngine& other) const override;
  void block_barrier(BlockRaces* handle) override {
    auto& block = *static_cast<EpochBlock*>(handle);
    block.reads.clear();
    block.barrier_clock = *std::max_element(block.warp_clock.begin(), block.warp_clock.end());
    block.warp_clock.fill(block.barrier_clock + 1);
  }
  void warp_sync(BlockRaces* block, std::uint32_t warp, std::uint32_t) override { ++static_cast<EpochBlock*>(block)->warp_clock[warp]; }
  void end_launch() override {
    cells_.release_all();
    requests_ = {};
  }

  void add_to(Footprint& footprint) const override {
    add_cells(cells_, footprint, [&](PackedCell cell) { return cell.bits == 0 ? std::nullopt : std::optional(location_of(look_at(cell).slot)); });
  }

  // RaceMode sends kernels with these to the clock engine.
  void named_barrier(BlockRaces* block, std::span<const std::uint32_t>, std::span<const std::uint32_t>) override { block_barrier(block); }
  void barrier_arrive(BlockRaces*, std::uint32_t, std::uint32_t, std::uint32_t) override {}
  void named_barrier_complete(BlockRaces* block, std::uint32_t, std::span<const std::uint32_t>) override { block_barrier(block); }
  void fence(BlockRaces*, std::uint32_t, std::uint32_t, ptx::Scope) override {}
  void release(BlockRaces*, std::uint32_t, std::uint32_t, std::uint64_t, ptx::Scope) override {}
  void acquire(BlockRaces*, std::uint32_t, std::uint32_t, std::uint64_t, ptx::Scope) override {}

 private:
  void order_with_log(EpochBlock& block, const RaceAccess& access);
  bool shared_store(EpochBlock& block, const LaneShape& shape, std::uint64_t base, const Here& here);
  bool shaped_global(const ShapedAccess& access, const Here& here);
  bool shaped_row(CellChunk<PackedCell>& chunk, std::uint32_t index, const Here& here);
  template <class F>
  bool for_stretches(Allocation& allocation, const LaneShape& shape, std::uint64_t offset, F f);
  bool is_clear(const CellChunk<PackedCell>& chunk, std::uint32_t planes, std::uint32_t index, std::uint32_t lane, const Here& here) const;
  // Cells as they are looked at, and as they are kept.
  static SharedCell look_at(const SharedCell& cell) { return cell; }
  GlobalCell look_at(PackedCell cell) const { return requests_.look_at(cell); }
  static void keep(SharedCell& cell, Slot slot, const Here&) { cell.slot = slot; }
  static void keep(PackedCell& cell, Slot slot, const Here& here) { cell = Requests::pack(here.request, slot); }
  void merge_into(SharedCell& cell, std::uint32_t thread, const Here& here) const { merge(cell, thread, here); }
  void merge_into(PackedCell& kept, std::uint32_t thread, const Here& here) const {
    const std::uint32_t met = kept.bits >> 5;
    if (met != 0 && met == here.met) {   // as the cell before it
      kept.bits = here.request << 7 | here.merged << 5 | (thread & 31);
      return;
    }
    GlobalCell cell = look_at(kept);
    const bool by_lane = many_of(cell.slot) == kOne && !other_block(cell, here) && thread_of(cell.slot) / 32 == here.warp && cell.slot >= here.warp_limit;
    if (!merge(cell, thread, here)) return;
    keep(kept, cell.slot, here);
    if (by_lane) return;
    here.met = met;
    here.merged = static_cast<std::uint32_t>(many_of(cell.slot));
  }
  std::uint32_t request_of(const Here& here);
  void forget_requests();
  void shared_access(EpochBlock& block, const Here& here);
  void shared_loads(CellChunk<SharedCell>& chunk, const Here& here);
  void global_access(const Here& here);
  void global_row(const Here& here, CellChunk<PackedCell>& chunk, std::uint32_t offset);
  template <class Kept>
  void refine(CellChunk<Kept>& chunk, std::uint32_t shift);
  template <class Kept>
  void touch(CellChunk<Kept>& chunk, std::uint32_t index, std::uint32_t lane, Plane plane, const Here& here);
  template <class Kept, class Cell>
  void report(const CellChunk<Kept>& chunk, const Cell& cell, std::uint32_t index, std::uint32_t lane, Plane first, Plane second,
              const Here& here);
  template <class Cell>
  Cell* plane_cells(CellChunk<Cell>& chunk, Plane plane) {
    if (chunk.planes[plane] == nullptr) [[unlikely]] {
      chunk.planes[plane] = std::make_unique<Cell[]>(chunk.cells());
      stats_.shadow_bytes += sizeof(Cell) * chunk.cells();
    }
    return chunk.planes[plane].get();
  }

  std::uint32_t threads_;
  RaceLog& log_;
  RaceStats& stats_;
  CellStore<PackedCell> cells_;
  Requests requests_;
  std::vector<std::unique_ptr<EpochBlock>> blocks_;
  std::vector<EpochBlock*> free_;
  std::uint8_t finest_shared_ = 4;   // so that the next block begins with the cells that the last one ended with
};

}  // namespace kforge::emulator::epochs
