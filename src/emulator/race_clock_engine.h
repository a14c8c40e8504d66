// The clock engine's class: race_clocks.cc has what threads know and hand on, race_clock_cells.cc which accesses cells remember.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>

#include "emulator/lanes.h"
#include "emulator/race_clocks.h"
#include "emulator/race_relaxed.h"

namespace kforge::emulator {

class ClockEngine final : public RaceEngine {
 public:
  // `relaxed_flags`: RaceMode's.
  ClockEngine(std::uint32_t threads, bool relaxed_flags, RaceLog& log, RaceStats& stats, std::uint64_t cap, std::uint32_t index)
      : threads_(threads), relaxed_flags_(relaxed_flags), log_(log), stats_(stats), cells_(stats, cap, index) {}

  BlockRaces* begin_block(std::uint32_t linear, std::uint32_t shared_bytes) override {
    auto block = std::make_unique<ClockBlock>();
    block->linear = linear;
    block->threads = threads_;
    block->state.resize((threads_ + 31) / 32 * 32);
    block->shared.bytes = shared_bytes;
    block->shared.shift = finest_shared_;
    ClockBlock* handle = block.get();
    blocks_.emplace(handle, std::move(block));
    return handle;
  }
  void end_block(BlockRaces* block) override { blocks_.erase(block); }
  void end_launch() override { cells_.release_all(); }
  void add_to(Footprint& footprint) const override {
    add_cells(cells_, footprint, [&](RecordCell cell) {
      std::optional<std::uint32_t> newest;
      pool_.any(cell, [&](const AccessRecord& record) { return newest = record.location, true; });
      return newest;
    });
  }

  void access(const RaceAccess& access) override;
  void block_barrier(BlockRaces* block) override;
  void named_barrier(BlockRaces*, std::span<const std::uint32_t> arrived, std::span<const std::uint32_t> waited) override;
  void barrier_arrive(BlockRaces*, std::uint32_t barrier, std::uint32_t warp, std::uint32_t mask) override;
  void named_barrier_complete(BlockRaces*, std::uint32_t barrier, std::span<const std::uint32_t> waited) override;
  void warp_sync(BlockRaces* block, std::uint32_t warp, std::uint32_t mask) override;
  void shuffle(BlockRaces* block, std::uint32_t warp, std::uint32_t mask) override;
  void fence(BlockRaces* block, std::uint32_t warp, std::uint32_t mask, ptx::Scope scope) override;
  void release(BlockRaces*, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) override;
  void acquire(BlockRaces*, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) override;
  void release_fenced(BlockRaces*, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) override;

 private:
  using Chunk = CellChunk<RecordCell>;
  struct Here {
    const RaceAccess& access;
    ClockBlock& block;     // of the thread
    ClockBlock& window;    // of the shared memory
    RecordPool& pool;
    std::uint32_t location;
  };

  static ClockBlock& of(BlockRaces* block) { return *static_cast<ClockBlock*>(block); }
  ThreadKnowledge& thread(ClockBlock& block, std::uint32_t warp, std::uint32_t lane) { return block.state[warp * 32 + lane]; }
  Knowledge all_known(ClockBlock& block, std::uint32_t warp, std::uint32_t lane);
  Knowledge fenced(ClockBlock& block, std::uint32_t warp, std::uint32_t lane, std::uint32_t reach);
  void gather(ClockBlock& block, std::uint32_t warp, std::uint32_t mask, Meeting& meeting);
  void scatter(ClockBlock& block, std::uint32_t warp, std::uint32_t mask, const Meeting& meeting);
  void acquire_flag(const Here& here, std::uint32_t lane, SyncObject& object);
  void learn(Knowledge& known, const Knowledge& from);
  void publish_flag(const Here& here, std::uint32_t lane, SyncObject& object);
  SyncObject* flag(const Here& here, std::uint32_t lane, bool make);
  bool publishes(const Here& here, std::uint32_t lane);
  void refine(Chunk& chunk, std::uint32_t shift, RecordPool& pool);
  RecordCell* plane_cells(Chunk& chunk, Plane plane);
  bool is_ordered(const AccessRecord& record, const Here& here, std::uint32_t lane);
  bool is_soft(const AccessRecord& record, const Here& here, std::uint32_t lane, Plane plane);
  bool read_is_over(const AccessRecord& record, const Here& here, Plane read, Plane write);
  RelaxedFlags::Moment moment(const Here& here) const { return {here.block.linear, here.access.warp, here.block.barrier_time, now_}; }
  bool touch_row(Chunk& chunk, std::uint32_t index, Plane plane, const Here& here);
  void touch_scopes(Chunk& chunk, std::uint32_t index, std::uint32_t lane, Plane other, Plane plane, const Here& here);
  void touch(Chunk& chunk, std::uint32_t index, std::uint32_t lane, Plane plane, const Here& here);
  AccessRecord record_of(const Here& here, std::uint32_t lanes) const {
    const RaceAccess& access = here.access;
    return {here.block.linear, access.warp, lanes, now_, here.location, access.kind == AccessKind::atomic, access.strong && access.scope == ptx::Scope::cta};
  }
  void remember(RecordCell& cell, std::uint32_t lanes, const Here& here, std::uint32_t lane);
  void report(const Chunk& chunk, const AccessRecord& record, std::uint32_t index, std::uint32_t lane, Plane first, Plane second,
              const Here& here, bool by_scope = false);
  void cell_access(const Here& here);
  void global_cells(const Here& here);
  void lane_cells(Chunk& chunk, std::uint32_t offset, std::uint32_t lane, const Here& here);

  std::uint32_t threads_;
  bool relaxed_flags_;
  bool block_scopes_ = false;   // a row was accessed with scope .cta: strong rows are looked at lane by lane
  RaceLog& log_;
  RaceStats& stats_;
  CellStore<RecordCell> cells_;
  RecordPool pool_;
  RaceTime now_ = 1;
  struct Learnt { Knowledge before, from, after; };
  Learnt last_learnt_;
  std::uint8_t finest_shared_ = 4;
  std::unordered_map<BlockRaces*, std::unique_ptr<ClockBlock>> blocks_;
  std::unordered_map<std::uint64_t, SyncObject> flags_;     // global memory, by address
  RelaxedFlags relaxed_;                                    // in global memory
  std::unordered_map<std::uint64_t, SyncObject> objects_;   // release() and acquire(), by key
};

}  // namespace kforge::emulator
