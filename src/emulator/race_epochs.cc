// The epoch engine. Each block counts barrier intervals, each warp its synchronisations within the interval; both are one
// clock: a barrier sets all warps' clocks past the largest. An access is one word: clock, location, "many", thread, clock on
// top, so that "ordered before every thread of the block" is one comparison with the clock of the last barrier.
//
// Where several threads made unordered reads (or strong accesses), `many` says how far apart the two that we know of are. That
// is enough here: once two warps read in one interval, any writer in the interval is unordered with at least one of them,
// and after the next barrier with none. Blocks are never ordered with each other.
#include <algorithm>

#include "emulator/race_engine.h"

namespace kforge::emulator {
namespace {

using Slot = std::uint64_t;  // clock:31 location:20 update:1 many:2 thread:10; 0: no access
enum Many : std::uint64_t { kOne, kLanes, kWarps, kBlocks };
constexpr int kClockAt = 33, kLocationAt = 13, kUpdateAt = 12, kManyAt = 10;
constexpr Slot kThreadMask = (1u << kManyAt) - 1;
constexpr std::uint32_t kClockRestart = 1u << 30;

std::uint32_t location_of(Slot slot) { return static_cast<std::uint32_t>(slot >> kLocationAt) & kMaxLocation; }
Many many_of(Slot slot) { return static_cast<Many>(slot >> kManyAt & 3); }
std::uint32_t thread_of(Slot slot) { return static_cast<std::uint32_t>(slot & kThreadMask); }
Slot with_many(Slot slot, Many many) { return (slot & ~(Slot{3} << kManyAt)) | static_cast<Slot>(many) << kManyAt; }

struct SharedCell {
  Slot slot = 0;
};
struct GlobalCell {
  Slot slot = 0;
  std::uint32_t block = 0;
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
};

bool other_block(const SharedCell&, const Here&) { return false; }
bool other_block(const GlobalCell& cell, const Here& here) { return cell.slot != 0 && cell.block != here.block; }
void set_block(SharedCell&, const Here&) {}
void set_block(GlobalCell& cell, const Here& here) { cell.block = here.block; }
std::uint32_t block_of(const SharedCell&, const Here& here) { return here.block; }
std::uint32_t block_of(const GlobalCell& cell, const Here&) { return cell.block; }

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

// Adds an access to those remembered that may run at the same time.
template <class Cell>
void merge(Cell& cell, std::uint32_t thread, const Here& here) {
  const Slot mine = here.stamp | thread;
  if (many_of(cell.slot) == kBlocks) {
    if (here.load) return;
    cell.slot = with_many(mine, kBlocks);   // strong writes: the latest is kept, for follows_update
    set_block(cell, here);
    return;
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
  set_block(cell, here);
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
  void end_launch() override { cells_.release_all(); }

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
  bool shaped_row(CellChunk<GlobalCell>& chunk, std::uint32_t index, const Here& here);
  template <class F>
  bool for_stretches(Allocation& allocation, const LaneShape& shape, std::uint64_t offset, F f);
  template <class Cell>
  static bool is_clear(const CellChunk<Cell>& chunk, std::uint32_t planes, std::uint32_t index, std::uint32_t lane, const Here& here);
  void shared_access(EpochBlock& block, const Here& here);
  void shared_loads(CellChunk<SharedCell>& chunk, const Here& here);
  void global_access(const Here& here);
  void global_row(const Here& here, CellChunk<GlobalCell>& chunk, std::uint32_t offset);
  template <class Cell>
  void refine(CellChunk<Cell>& chunk, std::uint32_t shift);
  template <class Cell>
  void touch(CellChunk<Cell>& chunk, std::uint32_t index, std::uint32_t lane, Plane plane, const Here& here);
  template <class Cell>
  void report(const CellChunk<Cell>& chunk, const Cell& cell, std::uint32_t index, std::uint32_t lane, Plane first, Plane second,
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
  CellStore<GlobalCell> cells_;
  std::vector<std::unique_ptr<EpochBlock>> blocks_;
  std::vector<EpochBlock*> free_;
  std::uint8_t finest_shared_ = 4;   // so that the next block begins with the cells that the last one ended with
};

BlockRaces* EpochEngine::begin_block(std::uint32_t linear, std::uint32_t shared_bytes) {
  if (free_.empty()) {
    blocks_.push_back(std::make_unique<EpochBlock>());
    free_.push_back(blocks_.back().get());
  }
  EpochBlock& block = *free_.back();
  free_.pop_back();
  // A reused window keeps its cells: its clock runs on, so that all of them are ordered before the new block.
  if (block.shared.bytes != shared_bytes || block.shared.shift != finest_shared_ || block.barrier_clock > kClockRestart) {
    block = EpochBlock{};
    block.shared.bytes = shared_bytes;
    block.shared.shift = finest_shared_;
  }
  block.linear = linear;
  block.threads = threads_;
  SharedReadLog& log = block.reads;
  log.enabled = shared_bytes != 0;
  log.segment_shift = static_cast<std::uint8_t>(std::max<int>(0, static_cast<int>(std::bit_width(std::max(1u, shared_bytes) - 1)) - 6));
  if (log.enabled) log.entries.resize(SharedReadLog::kCapacity);
  block_barrier(&block);
  return &block;
}

template <class Cell>
void EpochEngine::refine(CellChunk<Cell>& chunk, std::uint32_t shift) {
  if (chunk.rows)
    chunk.subdivide(5, stats_.shadow_bytes, [](Cell cell, std::uint32_t lane) {
      if (cell.slot != 0) cell.slot += lane;   // rows are made by lane 0 for all
      return cell;
    });
  if (shift < chunk.shift)
    chunk.subdivide(chunk.shift - shift, stats_.shadow_bytes, [](const Cell& cell, std::uint32_t) { return cell; });
}

template <class Cell>
void EpochEngine::report(const CellChunk<Cell>& chunk, const Cell& cell, std::uint32_t index, std::uint32_t lane, Plane first,
                         Plane second, const Here& here) {
  const RaceAccess& access = *here.access;
  Race race;
  race.shared = access.allocation == nullptr;
  const std::uint64_t start = (*access.addresses)[lane];
  const std::uint64_t cell_start = race.shared ? std::uint64_t{index} << chunk.cell_shift()
                                               : start - ((start - access.allocation->base) & (kChunkBytes - 1)) +
                                                     (std::uint64_t{index} << chunk.cell_shift());
  race.address = std::max(start, cell_start);
  const Many many = many_of(cell.slot);
  const bool mine_too = many == kBlocks && block_of(cell, here) == here.block;  // the other block is not remembered
  race.across_blocks = many == kBlocks || block_of(cell, here) != here.block;
  const std::uint32_t thread = here.warp * 32 + lane;
  race.first = {mine_too ? RaceParty::kUnknown : block_of(cell, here), mine_too ? RaceParty::kUnknown : thread_of(cell.slot),
                location_of(cell.slot), is_write(first), is_strong(first)};
  if (!race.across_blocks && many != kOne && race.first.thread == thread) race.first.thread = RaceParty::kUnknown;
  race.second = {here.block, thread, static_cast<std::uint32_t>(here.stamp >> kLocationAt) & kMaxLocation, is_write(second),
                 is_strong(second)};
  race.bytes = access.bytes;
  race.kind = kind_of(first, second);
  const bool this_request = !race.across_blocks && thread_of(cell.slot) / 32 == here.warp && many == kOne;
  bool same = race.kind == RaceKind::write_write;
  const std::uint32_t last_lane = chunk.rows ? 31 : lane;   // a row stands for all lanes
  for (std::uint32_t each = lane; same && each <= last_lane; ++each)
    same = stores_same_value(access, each, chunk.rows ? (*access.addresses)[each] : race.address, 1u << chunk.shift,
                             this_request ? thread_of(cell.slot) % 32 : 32);
  if (same) race.kind = RaceKind::same_value;
  race.advice = same;
  log_.add(race);
}

template <class Cell>
void EpochEngine::touch(CellChunk<Cell>& chunk, std::uint32_t index, std::uint32_t lane, Plane plane, const Here& here) {
  const std::uint32_t thread = here.warp * 32 + lane;
  for (std::uint32_t other = 0; other < kPlanes; ++other) {
    if (!kConflicts[plane][other] || chunk.planes[other] == nullptr) continue;
    const Cell& cell = chunk.planes[other][index];
    if (cell.slot == 0 || is_ordered(cell, thread, here)) continue;
    if (other == kStrongWrite && follows_update(cell, thread, here)) continue;
    report(chunk, cell, index, lane, static_cast<Plane>(other), plane, here);
  }
  Cell& cell = plane_cells(chunk, plane)[index];
  if (plane == kWrite) {
    cell.slot = here.stamp | thread;
    set_block(cell, here);
  } else {
    merge(cell, thread, here);
  }
}

// The most frequent case of all: plain loads, cells as wide as the access, no strong accesses in the block.
void EpochEngine::shared_loads(CellChunk<SharedCell>& chunk, const Here& here) {
  const LaneAddresses& addresses = *here.access->addresses;
  SharedCell* reads = plane_cells(chunk, kRead);
  const SharedCell* writes = plane_cells(chunk, kWrite);
  const std::uint32_t shift = chunk.shift;
  std::uint64_t previous = ~std::uint64_t{0};
  bool previous_shared = false;   // the last cell is known to be read by several warps, or by several lanes now
  for (std::uint32_t lanes = here.access->mask; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    const std::uint64_t index = addresses[lane] >> shift;
    if (index == previous && previous_shared) continue;
    previous_shared = index == previous;
    previous = index;
    if (writes[index].slot >= here.block_limit && !is_ordered(writes[index], here.warp * 32 + lane, here)) {
      previous_shared = false;
      report(chunk, writes[index], static_cast<std::uint32_t>(index), lane, kWrite, kRead, here);
    }
    SharedCell& read = reads[index];
    if (read.slot < here.block_limit) read.slot = here.stamp | (here.warp * 32 + lane);
    else if (many_of(read.slot) < kWarps) merge(read, here.warp * 32 + lane, here);
  }
}

void EpochEngine::shared_access(EpochBlock& block, const Here& here) {
  CellChunk<SharedCell>& chunk = block.shared;
  const std::uint8_t shift = CellStore<SharedCell>::shift_of(here.access->bytes);
  if (shift < chunk.shift) {
    refine(chunk, shift);
    finest_shared_ = std::min(finest_shared_, shift);
  }
  const bool plain_load = here.access->kind == AccessKind::load && !here.access->strong;
  if (plain_load && here.access->bytes == 1u << chunk.shift && chunk.planes[kStrongWrite] == nullptr) return shared_loads(chunk, here);
  const std::uint32_t cells = std::max(1u, here.access->bytes >> chunk.shift);
  for (std::uint32_t lanes = here.access->mask; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    const auto index = static_cast<std::uint32_t>((*here.access->addresses)[lane] >> chunk.shift);
    const Plane plane = plane_of(*here.access, lane);
    for (std::uint32_t i = 0; i < cells; ++i) touch(chunk, index + i, lane, plane, here);
  }
}

void EpochEngine::global_row(const Here& here, CellChunk<GlobalCell>& chunk, std::uint32_t offset) {
  touch(chunk, offset >> chunk.cell_shift(), 0, plane_of(*here.access, 0), here);
}

void EpochEngine::global_access(const Here& here) {
  Allocation& allocation = *here.access->allocation;
  const std::uint32_t bytes = here.access->bytes;
  const bool row = is_row(*here.access, allocation.base);
  const std::uint8_t shift = CellStore<GlobalCell>::shift_of(bytes);
  std::uint64_t chunk_number = ~std::uint64_t{0};
  CellChunk<GlobalCell>* chunk = nullptr;
  for (std::uint32_t lanes = here.access->mask; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    const std::uint64_t offset = (*here.access->addresses)[lane] - allocation.base;
    if (offset >> kChunkShift != chunk_number) {
      chunk_number = offset >> kChunkShift;
      chunk = cells_.chunk(allocation, offset, bytes, row);
      if (chunk != nullptr && row && chunk->rows && chunk->shift == shift)
        return global_row(here, *chunk, offset & (kChunkBytes - 1));
      if (chunk != nullptr && (chunk->rows || shift < chunk->shift)) refine(*chunk, shift);
    }
    if (chunk == nullptr) {
      ++stats_.unchecked_accesses;
      continue;
    }
    const auto index = static_cast<std::uint32_t>(offset & (kChunkBytes - 1)) >> chunk->shift;
    const Plane plane = plane_of(*here.access, lane);
    for (std::uint32_t i = 0; i < std::max(1u, bytes >> chunk->shift); ++i) touch(*chunk, index + i, lane, plane, here);
  }
}

void EpochEngine::access(const RaceAccess& access) {
  auto& block = *static_cast<EpochBlock*>(access.block);
  const std::uint32_t location = access.location <= kMaxLocation ? access.location : 0;
  const Slot clock = block.warp_clock[access.warp];
  const Here here{&access, access.kind == AccessKind::load, block.linear, access.warp, (Slot{block.barrier_clock} + 1) << kClockAt, clock << kClockAt,
                  clock << kClockAt | Slot{location} << kLocationAt | Slot{access.kind == AccessKind::atomic} << kUpdateAt};
  if (access.allocation == nullptr) {
    order_with_log(block, access);
    shared_access(block, here);
  } else {
    global_access(here);
  }
}

// ---- known shapes --------------------------------------------------------------------------------------------------

void EpochEngine::order_with_log(EpochBlock& block, const RaceAccess& access) {
  SharedReadLog& log = block.reads;
  if (!log.enabled) return;
  std::uint64_t segments = 0;
  for (std::uint32_t lanes = access.mask; lanes != 0; lanes &= lanes - 1)
    segments |= log.segments((*access.addresses)[static_cast<std::size_t>(std::countr_zero(lanes))], access.bytes);
  if ((segments & log.logged) != 0) replay_reads(&block);
  if (access.kind != AccessKind::load) log.open_writes |= segments;
}

void EpochEngine::replay_reads(BlockRaces* handle) {
  auto& block = *static_cast<EpochBlock*>(handle);
  SharedReadLog& log = block.reads;
  const std::uint32_t count = std::exchange(log.count, 0);
  log.logged = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const SharedReadLog::Entry& entry = log.entries[i];
    const LaneAddresses addresses = entry.shape->addresses(entry.base);
    RaceAccess access;
    access.block = handle;
    access.warp = entry.warp;
    access.mask = ~0u;
    access.bytes = entry.shape->bytes;
    access.addresses = &addresses;
    access.location = entry.location;
    const std::uint32_t location = entry.location <= kMaxLocation ? entry.location : 0;
    const Slot clock = Slot{entry.clock} << kClockAt;
    shared_access(block, {&access, true, block.linear, entry.warp, (Slot{block.barrier_clock} + 1) << kClockAt, clock, clock | Slot{location} << kLocationAt});
  }
}

// Whether the accesses that a plane's cell remembers all come before this one.
template <class Cell>
bool EpochEngine::is_clear(const CellChunk<Cell>& chunk, std::uint32_t planes, std::uint32_t index, std::uint32_t lane, const Here& here) {
  for (; planes != 0; planes &= planes - 1) {
    const Cell& cell = chunk.planes[static_cast<std::size_t>(std::countr_zero(planes))][index];
    if (cell.slot != 0 && !is_ordered(cell, here.warp * 32 + lane, here)) return false;
  }
  return true;
}

// Planes that the access conflicts with and that the chunk has.
template <class Cell>
std::uint32_t conflicting_planes(const CellChunk<Cell>& chunk, bool store) {
  std::uint32_t planes = 0;
  for (std::uint32_t k = 0; k < kPlanes; ++k)
    planes |= static_cast<std::uint32_t>(kConflicts[store ? kWrite : kRead][k] && chunk.planes[k] != nullptr) << k;
  return planes;
}

bool EpochEngine::shared_store(EpochBlock& block, const LaneShape& shape, std::uint64_t base, const Here& here) {
  CellChunk<SharedCell>& chunk = block.shared;
  if (shape.units != 32 || shape.bytes < 1u << chunk.shift || chunk.planes[kStrongWrite] != nullptr || chunk.planes[kStrongRead] != nullptr) return false;
  SharedReadLog& log = block.reads;
  const std::uint64_t segments = log.segments(base + static_cast<std::uint64_t>(shape.low), shape.span);
  if ((segments & log.logged) != 0) replay_reads(&block);
  SharedCell* writes = plane_cells(chunk, kWrite);
  const SharedCell* reads = plane_cells(chunk, kRead);
  const std::uint32_t cells = shape.bytes >> chunk.shift, first_thread = here.warp * 32;
  std::array<std::uint32_t, 32> first;
  for (std::uint32_t lane = 0; lane < 32; ++lane) first[lane] = (static_cast<std::uint32_t>(base) + shape.delta32[lane]) >> chunk.shift;
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    for (std::uint32_t i = first[lane]; i < first[lane] + cells; ++i) {
      if (std::max(writes[i].slot, reads[i].slot) < here.block_limit) continue;
      if (!is_ordered(writes[i], first_thread + lane, here) || !is_ordered(reads[i], first_thread + lane, here)) return false;
    }
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    for (std::uint32_t i = first[lane]; i < first[lane] + cells; ++i) writes[i].slot = here.stamp | (first_thread + lane);
  log.open_writes |= segments;
  return true;
}

bool EpochEngine::shaped_row(CellChunk<GlobalCell>& chunk, std::uint32_t index, const Here& here) {
  if (!is_clear(chunk, conflicting_planes(chunk, !here.load), index, 0, here)) return false;
  GlobalCell& cell = plane_cells(chunk, here.load ? kRead : kWrite)[index];
  if (here.load) {
    merge(cell, here.warp * 32, here);
  } else {
    cell.slot = here.stamp | (here.warp * 32);
    set_block(cell, here);
  }
  return true;
}

// f(chunk, first cell, first unit, units) for each stretch of neighbouring units within a chunk, ascending; stops when f is false or
// a chunk is not of the plain kind.
template <class F>
bool EpochEngine::for_stretches(Allocation& allocation, const LaneShape& shape, std::uint64_t offset, F f) {
  for (std::uint32_t k = 0; k < shape.runs; ++k) {
    const LaneShape::Run run = shape.run[k];
    std::uint64_t at = offset + static_cast<std::uint64_t>(static_cast<std::int64_t>(shape.unit_delta[run.first]));
    for (std::uint32_t done = 0; done < run.count;) {
      CellChunk<GlobalCell>* chunk = cells_.chunk(allocation, at, shape.bytes, false);
      if (chunk == nullptr || chunk->rows || shape.bytes < 1u << chunk->shift) return false;
      const std::uint32_t here = static_cast<std::uint32_t>(at & (kChunkBytes - 1));
      const std::uint32_t units = std::min<std::uint32_t>(run.count - done, std::max(1u, (kChunkBytes - here) / shape.bytes));
      if (!f(*chunk, here >> chunk->shift, run.first + done, units)) return false;
      done += units;
      at += std::uint64_t{units} * shape.bytes;
    }
  }
  return true;
}

bool EpochEngine::shaped_global(const ShapedAccess& access, const Here& here) {
  const LaneShape& shape = *access.shape;
  Allocation& allocation = *access.allocation;
  const std::uint64_t offset = access.base - allocation.base;
  if (shape.consecutive && shape.bytes <= 16 && (offset & (32 * shape.bytes - 1)) == 0) {
    CellChunk<GlobalCell>* chunk = cells_.chunk(allocation, offset, shape.bytes, true);
    if (chunk != nullptr && chunk->rows && chunk->shift == CellStore<GlobalCell>::shift_of(shape.bytes))
      return shaped_row(*chunk, static_cast<std::uint32_t>(offset & (kChunkBytes - 1)) >> chunk->cell_shift(), here);
  }
  if (access.store && shape.units != 32) return false;
  const bool clear = for_stretches(allocation, shape, offset, [&](const CellChunk<GlobalCell>& chunk, std::uint32_t index, std::uint32_t unit, std::uint32_t units) {
    const std::uint32_t planes = conflicting_planes(chunk, access.store), cells = shape.bytes >> chunk.shift;
    for (std::uint32_t i = 0; planes != 0 && i < units * cells; ++i)
      if (!is_clear(chunk, planes, index + i, shape.unit_lane[unit + i / cells], here)) return false;
    return true;
  });
  if (!clear) return false;
  for_stretches(allocation, shape, offset, [&](CellChunk<GlobalCell>& chunk, std::uint32_t index, std::uint32_t unit, std::uint32_t units) {
    GlobalCell* cell = plane_cells(chunk, access.store ? kWrite : kRead) + index;
    const std::uint32_t cells = shape.bytes >> chunk.shift, first_thread = here.warp * 32;
    for (std::uint32_t u = unit; u < unit + units; ++u)
      for (std::uint32_t i = 0; i < cells; ++i, ++cell) {
        if (access.store) {
          cell->slot = here.stamp | (first_thread + shape.unit_lane[u]);
          set_block(*cell, here);
        } else if (many_of(cell->slot) != kBlocks) {
          merge(*cell, first_thread + shape.unit_lane[u], here);
          if (shape.unit_lane[u] != shape.unit_last_lane[u]) merge(*cell, first_thread + shape.unit_last_lane[u], here);
        }
      }
    return true;
  });
  return true;
}

// ---- engines side by side ------------------------------------------------------------------------------------------

namespace {

using ByteSet = std::array<std::uint64_t, kChunkBytes / 64>;

// Adds the bytes that the plane's cells remember.
void add_bytes(const CellChunk<GlobalCell>& chunk, Plane plane, ByteSet& bytes) {
  const GlobalCell* cells = chunk.planes[plane].get();
  if (cells == nullptr) return;
  const std::uint32_t size = 1u << chunk.cell_shift();
  for (std::uint32_t i = 0; i < chunk.cells(); ++i) {
    if (cells[i].slot == 0) continue;
    for (std::uint32_t at = i * size; at < (i + 1) * size && at < kChunkBytes; at += 64 - at % 64) {
      const std::uint32_t count = std::min({(i + 1) * size - at, 64 - at % 64, kChunkBytes - at});
      bytes[at / 64] |= (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << at % 64;
    }
  }
}

bool touch_one_byte(const CellChunk<GlobalCell>& a, const CellChunk<GlobalCell>& b) {
  std::array<ByteSet, 4> sets{};   // written in a, touched in a, the same of b
  for (std::uint32_t side = 0; side < 2; ++side)
    for (const Plane plane : {kWrite, kStrongWrite, kRead, kStrongRead}) {
      const CellChunk<GlobalCell>& chunk = side == 0 ? a : b;
      if (is_write(plane)) add_bytes(chunk, plane, sets[2 * side]);
      add_bytes(chunk, plane, sets[2 * side + 1]);
    }
  for (std::size_t k = 0; k < sets[0].size(); ++k)
    if (((sets[0][k] & sets[3][k]) | (sets[1][k] & sets[2][k])) != 0) return true;
  return false;
}

bool is_written(const CellChunk<GlobalCell>& chunk) { return chunk.planes[kWrite] != nullptr || chunk.planes[kStrongWrite] != nullptr; }

}  // namespace

bool EpochEngine::conflicts_with(const RaceEngine& handle) const {
  const auto& other = static_cast<const EpochEngine&>(handle);
  for (const Allocation* allocation : cells_.allocations()) {
    const auto* mine = cells_.directory(*allocation);
    const auto* theirs = other.cells_.directory(*allocation);
    if (theirs == nullptr) continue;
    for (std::size_t k = 0; k < mine->chunks.size(); ++k) {
      const auto* a = mine->chunks[k].get();
      const auto* b = theirs->chunks[k].get();
      if (a != nullptr && b != nullptr && (is_written(*a) || is_written(*b)) && touch_one_byte(*a, *b)) return true;
    }
  }
  return false;
}

bool EpochEngine::access_shape(const ShapedAccess& access) {
  auto& block = *static_cast<EpochBlock*>(access.block);
  const std::uint32_t location = access.location <= kMaxLocation ? access.location : 0;
  const Slot clock = Slot{block.warp_clock[access.warp]} << kClockAt;
  const Here here{nullptr, !access.store, block.linear, access.warp, (Slot{block.barrier_clock} + 1) << kClockAt, clock, clock | Slot{location} << kLocationAt};
  if (access.allocation != nullptr) return shaped_global(access, here);
  return access.store && shared_store(block, *access.shape, access.base, here);
}

}  // namespace

std::unique_ptr<RaceEngine> make_epoch_engine(std::uint32_t threads, RaceLog& log, RaceStats& stats, std::uint64_t cap, std::uint32_t index) {
  return std::make_unique<EpochEngine>(threads, log, stats, cap, index);
}

}  // namespace kforge::emulator
