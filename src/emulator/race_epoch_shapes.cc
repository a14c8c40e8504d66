// Accesses of a known shape: what depends on the shape alone is not worked out again, and shared loads wait in the block's log.
#include <algorithm>
#include <bit>

#include "emulator/race_epochs.h"

namespace kforge::emulator::epochs {
namespace {

// Planes that the access conflicts with and that the chunk has.
template <class Cell>
std::uint32_t conflicting_planes(const CellChunk<Cell>& chunk, bool store) {
  std::uint32_t planes = 0;
  for (std::uint32_t k = 0; k < kPlanes; ++k)
    planes |= static_cast<std::uint32_t>(kConflicts[store ? kWrite : kRead][k] && chunk.planes[k] != nullptr) << k;
  return planes;
}

}  // namespace

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

// Whether the accesses that the planes' cells remember all come before this one.
bool EpochEngine::is_clear(const CellChunk<PackedCell>& chunk, std::uint32_t planes, std::uint32_t index, std::uint32_t lane, const Here& here) const {
  for (; planes != 0; planes &= planes - 1) {
    const PackedCell kept = chunk.planes[static_cast<std::size_t>(std::countr_zero(planes))][index];
    if (kept.bits >> 5 == here.ordered_before) continue;   // as the cell before it; 0: nothing is remembered
    const GlobalCell cell = look_at(kept);
    if (cell.slot == 0) continue;
    if (!is_ordered(cell, here.warp * 32 + lane, here)) return false;
    if (cell.slot < here.block_limit) here.ordered_before = kept.bits >> 5;
  }
  return true;
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

bool EpochEngine::shaped_row(CellChunk<PackedCell>& chunk, std::uint32_t index, const Here& here) {
  if (!is_clear(chunk, conflicting_planes(chunk, !here.load), index, 0, here)) return false;
  PackedCell& cell = plane_cells(chunk, here.load ? kRead : kWrite)[index];
  if (here.load) merge_into(cell, here.warp * 32, here);
  else keep(cell, 0, here);
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
      CellChunk<PackedCell>* chunk = cells_.chunk(allocation, at, shape.bytes, false);
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
    CellChunk<PackedCell>* chunk = cells_.chunk(allocation, offset, shape.bytes, true);
    if (chunk != nullptr && chunk->rows && chunk->shift == CellStore<PackedCell>::shift_of(shape.bytes))
      return shaped_row(*chunk, static_cast<std::uint32_t>(offset & (kChunkBytes - 1)) >> chunk->cell_shift(), here);
  }
  if (access.store && shape.units != 32) return false;
  const bool clear = for_stretches(allocation, shape, offset, [&](const CellChunk<PackedCell>& chunk, std::uint32_t index, std::uint32_t unit, std::uint32_t units) {
    const std::uint32_t planes = conflicting_planes(chunk, access.store), cells = shape.bytes >> chunk.shift;
    for (std::uint32_t i = 0; planes != 0 && i < units * cells; ++i)
      if (!is_clear(chunk, planes, index + i, shape.unit_lane[unit + i / cells], here)) return false;
    return true;
  });
  if (!clear) return false;
  for_stretches(allocation, shape, offset, [&](CellChunk<PackedCell>& chunk, std::uint32_t index, std::uint32_t unit, std::uint32_t units) {
    PackedCell* cell = plane_cells(chunk, access.store ? kWrite : kRead) + index;
    const std::uint32_t cells = shape.bytes >> chunk.shift, first_thread = here.warp * 32;
    for (std::uint32_t u = unit; u < unit + units; ++u)
      for (std::uint32_t i = 0; i < cells; ++i, ++cell) {
        if (access.store) {
          keep(*cell, shape.unit_lane[u], here);
        } else if ((cell->bits >> 5 & 3) != kBlocks) {
          merge_into(*cell, first_thread + shape.unit_lane[u], here);
          if (shape.unit_lane[u] != shape.unit_last_lane[u]) merge_into(*cell, first_thread + shape.unit_last_lane[u], here);
        }
      }
    return true;
  });
  return true;
}

bool EpochEngine::access_shape(const ShapedAccess& access) {
  auto& block = *static_cast<EpochBlock*>(access.block);
  const std::uint32_t location = access.location <= kMaxLocation ? access.location : 0;
  const Slot clock = Slot{block.warp_clock[access.warp]} << kClockAt;
  Here here{nullptr, !access.store, block.linear, access.warp, (Slot{block.barrier_clock} + 1) << kClockAt, clock, clock | Slot{location} << kLocationAt};
  if (access.allocation != nullptr) {
    here.request = request_of(here);
    return here.request != 0 && shaped_global(access, here);
  }
  return access.store && shared_store(block, *access.shape, access.base, here);
}

// ---- engines side by side ------------------------------------------------------------------------------------------

namespace {

using ByteSet = std::array<std::uint64_t, kChunkBytes / 64>;

// Adds the bytes that the plane's cells remember.
void add_bytes(const CellChunk<PackedCell>& chunk, Plane plane, ByteSet& bytes) {
  const PackedCell* cells = chunk.planes[plane].get();
  if (cells == nullptr) return;
  const std::uint32_t size = 1u << chunk.cell_shift();
  for (std::uint32_t i = 0; i < chunk.cells(); ++i) {
    if (cells[i].bits == 0) continue;
    for (std::uint32_t at = i * size; at < (i + 1) * size && at < kChunkBytes; at += 64 - at % 64) {
      const std::uint32_t count = std::min({(i + 1) * size - at, 64 - at % 64, kChunkBytes - at});
      bytes[at / 64] |= (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << at % 64;
    }
  }
}

bool touch_one_byte(const CellChunk<PackedCell>& a, const CellChunk<PackedCell>& b) {
  std::array<ByteSet, 4> sets{};   // written in a, touched in a, the same of b
  for (std::uint32_t side = 0; side < 2; ++side)
    for (const Plane plane : {kWrite, kStrongWrite, kRead, kStrongRead}) {
      const CellChunk<PackedCell>& chunk = side == 0 ? a : b;
      if (is_write(plane)) add_bytes(chunk, plane, sets[2 * side]);
      add_bytes(chunk, plane, sets[2 * side + 1]);
    }
  for (std::size_t k = 0; k < sets[0].size(); ++k)
    if (((sets[0][k] & sets[3][k]) | (sets[1][k] & sets[2][k])) != 0) return true;
  return false;
}

bool is_written(const CellChunk<PackedCell>& chunk) { return chunk.planes[kWrite] != nullptr || chunk.planes[kStrongWrite] != nullptr; }

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

}  // namespace kforge::emulator::epochs
