// What both race engines share: the interface that RaceDetector drives, the log of races found, and the chunks that hold cells.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "emulator/footprint.h"
#include "emulator/lane_shape.h"
#include "emulator/race.h"

namespace kforge::emulator {

// Plain full-warp loads of the shared window since the last barrier that have not been put into cells yet. Most intervals
// between barriers only read, or read one part of the window and write another: there a load is one entry here, and the
// barrier that ends the interval drops it, because it orders all reads before whatever comes. A write to a part
// that was read, or a full log, has the entries replayed in order. Parts are 64 segments of the window, a bit each.
struct SharedReadLog {
  struct Entry {
    const LaneShape* shape;
    std::uint32_t base;         // offset of lane 0
    std::uint32_t location;
    std::uint32_t clock;        // of the warp
    std::uint32_t warp;
  };
  static constexpr std::uint32_t kCapacity = 2048;

  bool enabled = false;
  std::uint8_t segment_shift = 0;
  std::uint32_t count = 0;
  std::uint64_t open_writes = 0;   // segments written since the last barrier
  std::uint64_t logged = 0;        // segments that entries read
  std::vector<Entry> entries;

  std::uint64_t segments(std::uint64_t first, std::uint64_t bytes) const {
    const std::uint64_t from = first >> segment_shift, to = (first + bytes - 1) >> segment_shift;
    return (std::uint64_t{2} << to) - (std::uint64_t{1} << from);
  }
  void clear() { count = 0, open_writes = 0, logged = 0; }
};

struct BlockRaces {
  std::uint32_t linear = 0;
  std::uint32_t threads = 0;
  std::array<std::uint32_t, 32> warp_clock{};      // epochs: of accesses made now
  SharedReadLog reads;
};

// Owned by the engine for the time of one launch; an Allocation points at its own.
struct Allocation::RaceCell {
  virtual ~RaceCell() = default;
};

// Races by place; the first occurrence is kept.
class RaceLog {
 public:
  void add(const Race& race) {
    const auto key = std::tuple(race.kind, race.shared, race.first.location, race.second.location);
    const auto [entry, fresh] = index_.try_emplace(key, races_.size());
    if (fresh) races_.push_back(race);
    races_[entry->second].count += 1;
  }
  bool empty() const { return races_.empty(); }
  std::vector<Race> take() {
    index_.clear();
    return std::exchange(races_, {});
  }

 private:
  std::map<std::tuple<RaceKind, bool, std::uint32_t, std::uint32_t>, std::size_t> index_;
  std::vector<Race> races_;
};

// The four kinds of access that a cell remembers apart: strong ones do not race with each other.
enum Plane : std::uint32_t { kWrite, kRead, kStrongWrite, kStrongRead, kPlanes };

// For an access of each plane's kind: the planes it conflicts with.
inline constexpr std::array<std::array<bool, kPlanes>, kPlanes> kConflicts = {{
    {true, true, true, true},      // plain write
    {true, false, true, false},    // plain read
    {true, true, false, false},    // strong write
    {true, false, false, false},   // strong read
}};
inline bool is_write(Plane plane) { return plane == kWrite || plane == kStrongWrite; }
inline bool is_strong(Plane plane) { return plane >= kStrongWrite; }

inline Plane plane_of(const RaceAccess& access, std::uint32_t lane) {
  if (access.kind == AccessKind::atomic) return (access.wrote >> lane & 1) != 0 ? kStrongWrite : kStrongRead;
  if (access.kind == AccessKind::store) return access.strong ? kStrongWrite : kWrite;
  return access.strong ? kStrongRead : kRead;
}

inline RaceKind kind_of(Plane first, Plane second) {
  if (!is_write(first)) return RaceKind::read_write;
  return is_write(second) ? RaceKind::write_write : RaceKind::write_read;
}

inline constexpr std::uint32_t kMaxLocation = (1u << 20) - 1;

// Does `access` store in `lane`, at byte `delta` of its `bytes`, what is there already; or, if `other` is a lane of the same
// instruction that stores there too, what that lane stores?
bool stores_same_value(const RaceAccess& access, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes, std::uint32_t other);

// A piece of memory that is shadowed by equal cells: `1 << shift` bytes each, or (rows) 32 times that, where byte i of lane
// l of one full-warp consecutive access falls to the cell. Planes are made when first used. A cell stands for the finest access seen in the chunk.
template <class Cell>
struct CellChunk {
  std::array<std::unique_ptr<Cell[]>, kPlanes> planes;
  std::uint32_t bytes = 0;
  std::uint8_t shift = 4;
  bool rows = false;

  std::uint32_t cell_shift() const { return shift + (rows ? 5u : 0u); }
  std::uint32_t cells() const { return ((bytes - 1) >> cell_shift()) + 1; }

  // Replaces each cell by `1 << finer` new ones: child(old cell, index within it).
  template <class F>
  void subdivide(std::uint32_t finer, std::uint64_t& shadow_bytes, F child) {
    const std::uint32_t before = cells();
    const std::uint32_t new_shift = cell_shift() - finer;
    shift = static_cast<std::uint8_t>(new_shift);
    rows = false;
    for (auto& plane : planes) {
      if (plane == nullptr) continue;
      auto fresh = std::make_unique<Cell[]>(cells());
      for (std::uint32_t i = 0; i < cells(); ++i) fresh[i] = child(plane[i >> finer], i & ((1u << finer) - 1));
      plane = std::move(fresh);
      shadow_bytes += sizeof(Cell) * (cells() - before);
    }
  }
};

inline constexpr std::uint32_t kChunkShift = 12;
inline constexpr std::uint32_t kChunkBytes = 1u << kChunkShift;

template <class Cell>
struct CellDirectory final : Allocation::RaceCell {
  explicit CellDirectory(std::uint64_t size) : chunks(((size + kChunkBytes - 1) >> kChunkShift) + 1) {}
  std::vector<std::unique_ptr<CellChunk<Cell>>> chunks;
};

// The cells of all allocations that a launch touches.
template <class Cell>
class CellStore {
 public:
  CellStore(RaceStats& stats, std::uint64_t cap, std::uint32_t engine) : stats_(stats), cap_(cap), engine_(engine) {}

  // The chunk of the byte at `offset`; null when the cap is reached. A new chunk takes rows if `rows`.
  CellChunk<Cell>* chunk(Allocation& allocation, std::uint64_t offset, std::uint32_t access_bytes, bool rows) {
    Allocation::RaceCell*& cells = allocation.race_cells[engine_];
    if (cells == nullptr) {
      directories_.push_back(std::make_unique<CellDirectory<Cell>>(allocation.size));
      cells = directories_.back().get();
      allocations_.push_back(&allocation);
    }
    auto& slot = static_cast<CellDirectory<Cell>*>(cells)->chunks[offset >> kChunkShift];
    if (slot != nullptr) [[likely]] return slot.get();
    if (stats_.shadow_bytes >= cap_) return nullptr;
    slot = std::make_unique<CellChunk<Cell>>();
    slot->bytes = kChunkBytes;
    slot->shift = shift_of(access_bytes);
    slot->rows = rows;
    stats_.shadow_bytes += sizeof(CellChunk<Cell>);
    return slot.get();
  }
  Cell* plane(CellChunk<Cell>& chunk, Plane plane) {
    if (chunk.planes[plane] == nullptr) {
      chunk.planes[plane] = std::make_unique<Cell[]>(chunk.cells());
      stats_.shadow_bytes += sizeof(Cell) * chunk.cells();
    }
    return chunk.planes[plane].get();
  }
  void release_all() {
    for (Allocation* allocation : allocations_) allocation->race_cells[engine_] = nullptr;
    allocations_.clear();
    directories_.clear();
    stats_.peak_shadow_bytes = std::max(stats_.peak_shadow_bytes, stats_.shadow_bytes);
    stats_.shadow_bytes = 0;
  }
  const std::vector<Allocation*>& allocations() const { return allocations_; }
  // Null: nothing of the allocation was touched.
  const CellDirectory<Cell>* directory(const Allocation& allocation) const { return static_cast<const CellDirectory<Cell>*>(allocation.race_cells[engine_]); }
  static std::uint8_t shift_of(std::uint32_t access_bytes) {
    return static_cast<std::uint8_t>(std::min(4, std::countr_zero(access_bytes)));
  }

 private:
  RaceStats& stats_;
  std::uint64_t cap_;
  std::uint32_t engine_;
  std::vector<std::unique_ptr<CellDirectory<Cell>>> directories_;
  std::vector<Allocation*> allocations_;
};

// All that the cells of a store remember of global memory; location_of(cell) is asked of those that remember an access, nullopt of others.
template <class Cell, class F>
void add_cells(const CellStore<Cell>& store, Footprint& footprint, F location_of) {
  constexpr std::array kTouches = {Footprint::Touch::write, Footprint::Touch::read, Footprint::Touch::strong_write, Footprint::Touch::strong_read};
  for (const Allocation* allocation : store.allocations()) {
    const CellDirectory<Cell>* cells = store.directory(*allocation);
    for (std::uint32_t plane = 0; plane < kPlanes; ++plane)
      for (std::size_t k = 0; k < cells->chunks.size(); ++k) {
        const CellChunk<Cell>* chunk = cells->chunks[k].get();
        if (chunk == nullptr || chunk->planes[plane] == nullptr) continue;
        const std::uint64_t size = std::uint64_t{1} << chunk->cell_shift();
        for (std::uint32_t i = 0; i < chunk->cells(); ++i)
          if (const std::optional<std::uint32_t> location = location_of(chunk->planes[plane][i])) {
            const std::uint64_t offset = k * kChunkBytes + i * size;
            if (offset < allocation->size) footprint.add(kTouches[plane], allocation->base + offset, std::min({size, allocation->size - offset, std::uint64_t{kChunkBytes}}), *location);
          }
      }
  }
}

// Full warp, consecutive, and aligned to the 32 lanes' bytes: one row of a chunk.
inline bool is_row(const RaceAccess& access, std::uint64_t base) {
  return access.mask == ~0u && access.bytes <= 16 && (((*access.addresses)[0] - base) & (32 * access.bytes - 1)) == 0 &&
         (access.kind != AccessKind::atomic || access.wrote == ~0u) && is_consecutive(*access.addresses, access.bytes);
}

class RaceEngine {
 public:
  virtual ~RaceEngine() = default;
  virtual BlockRaces* begin_block(std::uint32_t linear, std::uint32_t shared_bytes) = 0;
  virtual void end_block(BlockRaces* block) = 0;
  virtual void access(const RaceAccess& access) = 0;
  // False: nothing was done, use access(). True: done, and there was no race.
  virtual bool access_shape(const ShapedAccess&) { return false; }
  // Makes room in the block's log.
  virtual void replay_reads(BlockRaces*) {}
  // Whether some byte of global memory was written in one and touched in the other. Both are epoch engines.
  virtual bool conflicts_with(const RaceEngine&) const { return true; }
  virtual void block_barrier(BlockRaces* block) = 0;
  virtual void named_barrier(BlockRaces*, std::span<const std::uint32_t> arrived, std::span<const std::uint32_t> waited) = 0;
  virtual void barrier_arrive(BlockRaces*, std::uint32_t barrier, std::uint32_t warp, std::uint32_t mask) = 0;
  virtual void named_barrier_complete(BlockRaces*, std::uint32_t barrier, std::span<const std::uint32_t> waited) = 0;
  virtual void warp_sync(BlockRaces* block, std::uint32_t warp, std::uint32_t mask) = 0;
  virtual void shuffle(BlockRaces*, std::uint32_t, std::uint32_t) {}
  virtual void fence(BlockRaces* block, std::uint32_t warp, std::uint32_t mask, ptx::Scope scope) = 0;
  virtual void release(BlockRaces*, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) = 0;
  virtual void acquire(BlockRaces*, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) = 0;
  virtual void release_fenced(BlockRaces*, std::uint32_t, std::uint32_t, std::uint64_t, ptx::Scope) {}
  virtual void end_launch() = 0;
  // Adds what the launch touched of global memory so far.
  virtual void add_to(Footprint& footprint) const = 0;
};

// `index`: which of Allocation::race_cells is the engine's.
std::unique_ptr<RaceEngine> make_epoch_engine(std::uint32_t threads, RaceLog& log, RaceStats& stats, std::uint64_t cap, std::uint32_t index);
std::unique_ptr<RaceEngine> make_clock_engine(std::uint32_t threads, bool relaxed_flags, RaceLog& log, RaceStats& stats, std::uint64_t cap, std::uint32_t index);

}  // namespace kforge::emulator
