// The cells of the clock engine: an access is compared with those that its cells remember, and remembered in turn.
#include <algorithm>

#include "emulator/race_clock_engine.h"

namespace kforge::emulator {
namespace {

constexpr std::uint32_t kRememberedReaders = 8;  // unordered accesses kept a cell and kind; the latest ones

bool is_own_block(const RaceAccess& access) { return access.strong && access.scope == ptx::Scope::cta; }

}  // namespace

RecordCell* ClockEngine::plane_cells(Chunk& chunk, Plane plane) {
  if (chunk.planes[plane] == nullptr) {
    chunk.planes[plane] = std::make_unique<RecordCell[]>(chunk.cells());
    stats_.shadow_bytes += sizeof(RecordCell) * chunk.cells();
  }
  return chunk.planes[plane].get();
}

void ClockEngine::refine(Chunk& chunk, std::uint32_t shift, RecordPool& pool) {
  std::vector<AccessRecord> records;
  const auto split = [&](std::uint32_t finer, bool rows) {
    chunk.subdivide(finer, stats_.shadow_bytes, [&](RecordCell cell, std::uint32_t i) {
      records.clear();
      pool.visit(cell, [&](const AccessRecord& record) { records.push_back(record); });
      RecordCell child;
      for (std::size_t k = records.size(); k-- > 0;) {   // the newest last
        if (rows) records[k].lanes = 1u << i;
        pool.add(child, records[k]);
      }
      if (i + 1 == 1u << finer) pool.clear(cell);
      return child;
    });
  };
  if (chunk.rows) split(5, true);
  if (shift < chunk.shift) split(chunk.shift - shift, false);
}

bool ClockEngine::is_ordered(const AccessRecord& record, const Here& here, std::uint32_t lane) {
  const ThreadKnowledge& me = thread(here.block, here.access.warp, lane);
  std::uint32_t lanes = record.lanes;
  if (record.block == here.block.linear) {
    if (record.time <= here.block.barrier_time) return true;
    if (record.warp == here.access.warp) lanes &= ~(1u << lane);
    lanes &= ~me.own.known(record.block, record.warp, lanes, record.time);
  }
  if (lanes != 0) lanes &= ~me.foreign.known(record.block, record.warp, lanes, record.time);
  return lanes == 0;
}

// Ordered but for a fence that the model asks for and the hardware does not need here.
bool ClockEngine::is_soft(const AccessRecord& record, const Here& here, std::uint32_t lane, Plane plane) {
  std::uint32_t lanes = record.lanes;
  if (record.block == here.block.linear && record.warp == here.access.warp) lanes &= ~(1u << lane);
  const auto drop = [&](const Knowledge& knowledge) { lanes &= ~knowledge.known(record.block, record.warp, lanes, record.time); };
  const ThreadKnowledge& me = thread(here.block, here.access.warp, lane);
  drop(me.own);
  drop(me.foreign);
  drop(here.block.softly_acquired);
  if (plane == kStrongRead) {  // strong reads after a strong read of the flag: kept in order, past the first cache
    for (std::uint32_t reach = 0; reach < kReaches; ++reach) {
      drop(here.block.common.pending[reach]);
      if (me.fences != nullptr) drop(me.fences->pending[reach]);
    }
  }
  return lanes == 0;
}

// A read of another block that came to its end before a flag was set, without fences, that this write waited for.
bool ClockEngine::read_is_over(const AccessRecord& record, const Here& here, Plane read, Plane write) {
  if (!relaxed_flags_ || read != kRead || !is_write(write) || record.block == here.block.linear) return false;
  return relaxed_.is_over(record.block, record.time, moment(here));
}

void ClockEngine::report(const Chunk& chunk, const AccessRecord& record, std::uint32_t index, std::uint32_t lane, Plane first,
                         Plane second, const Here& here, bool by_scope) {
  const RaceAccess& access = here.access;
  const std::uint32_t mine = access.warp * 32 + lane;
  std::uint32_t others = record.lanes;
  if (record.block == here.block.linear && record.warp == access.warp) others &= ~(1u << lane);
  Race race;
  race.shared = access.allocation == nullptr;
  race.across_blocks = record.block != here.block.linear;
  race.first = {record.block, record.warp * 32 + static_cast<std::uint32_t>(std::countr_zero(others)) % 32, record.location,
                is_write(first), is_strong(first)};
  race.second = {here.block.linear, mine, here.location, is_write(second), is_strong(second)};
  const std::uint64_t start = (*access.addresses)[lane];
  const std::uint64_t chunk_start = race.shared ? 0 : start - ((start - access.allocation->base) & (kChunkBytes - 1));
  race.address = std::max(start, chunk_start + (std::uint64_t{index} << chunk.cell_shift()));
  race.bytes = access.bytes;
  race.kind = by_scope ? RaceKind::scope : kind_of(first, second);
  const bool this_request = record.time == now_ && record.warp == access.warp && !race.across_blocks;
  if (race.kind == RaceKind::write_write &&
      stores_same_value(access, lane, race.address, 1u << chunk.shift, this_request ? race.first.thread % 32 : 32))
    race.kind = RaceKind::same_value;
  else if (!by_scope && is_soft(record, here, lane, second))
    race.kind = RaceKind::missing_acquire;
  race.advice = race.kind == RaceKind::same_value || race.kind == RaceKind::missing_acquire;
  log_.add(race);
}

// Adds an access to those that may run at the same time; what is ordered before it need not be remembered beside it.
void ClockEngine::remember(RecordCell& cell, std::uint32_t lanes, const Here& here, std::uint32_t lane) {
  std::uint32_t kept = 0;
  bool merged = false;
  here.pool.filter(cell, [&](AccessRecord& record) {
    const bool same = record.block == here.block.linear && record.warp == here.access.warp && record.time == now_ &&
                      record.location == here.location && record.own_block == is_own_block(here.access) && (kept == 0 || here.access.kind == AccessKind::load);
    if (same) {
      record.lanes |= lanes;
      merged = true;
    }
    // A row stands for 32 lanes: only what all of them know may go.
    const bool droppable = lanes != ~0u ? is_ordered(record, here, lane)
                                        : record.block == here.block.linear && (record.time <= here.block.barrier_time || record.warp == here.access.warp);
    if (!same && (droppable || kept >= kRememberedReaders)) return false;
    ++kept;
    return true;
  });
  if (!merged) here.pool.add(cell, record_of(here, lanes));
}

// Strong accesses of two blocks, of which one is strong for its own block only: they race like plain ones (PTX manual, "Morally strong operations").
void ClockEngine::touch_scopes(Chunk& chunk, std::uint32_t index, std::uint32_t lane, Plane other, Plane plane, const Here& here) {
  if (here.access.allocation == nullptr && !here.window.reached) return;
  here.pool.visit(chunk.planes[other][index], [&](const AccessRecord& record) {
    if (record.block == here.block.linear || !(record.own_block || is_own_block(here.access)) || is_ordered(record, here, lane)) return;
    report(chunk, record, index, lane, other, plane, here, true);
  });
}

void ClockEngine::touch(Chunk& chunk, std::uint32_t index, std::uint32_t lane, Plane plane, const Here& here) {
  bool raced = false;
  for (std::uint32_t other = 0; other < kPlanes; ++other) {
    if (chunk.planes[other] == nullptr) continue;
    if (!kConflicts[plane][other]) {
      if (is_strong(plane) && is_strong(static_cast<Plane>(other)) && (is_write(plane) || is_write(static_cast<Plane>(other)))) touch_scopes(chunk, index, lane, static_cast<Plane>(other), plane, here);
      continue;
    }
    bool after_update = false;   // of this location, that happened before: so did all writes it came after
    here.pool.visit(chunk.planes[other][index], [&](const AccessRecord& record) {
      const bool ordered = is_ordered(record, here, lane);
      after_update |= ordered && other == kStrongWrite && record.update;
      if (ordered || after_update || read_is_over(record, here, static_cast<Plane>(other), plane)) return;
      raced = true;
      report(chunk, record, index, lane, static_cast<Plane>(other), plane, here);
    });
  }
  RecordCell& cell = plane_cells(chunk, plane)[index];
  if (plane != kWrite) return remember(cell, 1u << lane, here, lane);
  // All that was there is ordered before this write, and so before whatever comes after it.
  for (std::uint32_t other = 0; other < kPlanes; ++other)
    if (chunk.planes[other] != nullptr && (!raced || other == kWrite)) here.pool.clear(chunk.planes[other][index]);
  here.pool.add(cell, record_of(here, 1u << lane));
}

// A full row at once. False: some lane's order is not plain to see, and lanes must be looked at one by one.
bool ClockEngine::touch_row(Chunk& chunk, std::uint32_t index, Plane plane, const Here& here) {
  block_scopes_ = block_scopes_ || is_own_block(here.access);
  if (block_scopes_ && is_strong(plane)) return false;
  const ThreadKnowledge& first = thread(here.block, here.access.warp, 0);
  bool alike = true;
  for (std::uint32_t lane = 1; lane < 32; ++lane) {
    const ThreadKnowledge& me = thread(here.block, here.access.warp, lane);
    alike = alike && me.own.same_as(first.own) && me.foreign.same_as(first.foreign);
  }
  for (std::uint32_t other = 0; other < kPlanes; ++other) {
    if (!kConflicts[plane][other] || chunk.planes[other] == nullptr) continue;
    const bool unclear = here.pool.any(chunk.planes[other][index], [&](const AccessRecord& record) {
      const bool own_block = record.block == here.block.linear;
      if (own_block && (record.time <= here.block.barrier_time || record.warp == here.access.warp)) return false;
      return !alike || !is_ordered(record, here, 0);
    });
    if (unclear) return false;
  }
  if (plane == kWrite)
    for (std::uint32_t other = 0; other < kPlanes; ++other)
      if (chunk.planes[other] != nullptr) here.pool.clear(chunk.planes[other][index]);
  remember(plane_cells(chunk, plane)[index], ~0u, here, 0);
  return true;
}

void ClockEngine::lane_cells(Chunk& chunk, std::uint32_t offset, std::uint32_t lane, const Here& here) {
  const Plane plane = plane_of(here.access, lane);
  const std::uint32_t index = offset >> chunk.shift;
  for (std::uint32_t i = 0; i < std::max(1u, here.access.bytes >> chunk.shift); ++i) touch(chunk, index + i, lane, plane, here);
}

void ClockEngine::global_cells(const Here& here) {
  Allocation& allocation = *here.access.allocation;
  const std::uint32_t bytes = here.access.bytes;
  const bool row = is_row(here.access, allocation.base);
  const std::uint8_t shift = CellStore<RecordCell>::shift_of(bytes);
  std::uint64_t chunk_number = ~std::uint64_t{0};
  Chunk* chunk = nullptr;
  bool whole_row = false;
  for_lanes(here.access.mask, [&](std::uint32_t lane) {
    if (whole_row) return;
    const std::uint64_t offset = (*here.access.addresses)[lane] - allocation.base;
    const auto in_chunk = static_cast<std::uint32_t>(offset & (kChunkBytes - 1));
    if (offset >> kChunkShift != chunk_number) {
      chunk_number = offset >> kChunkShift;
      chunk = cells_.chunk(allocation, offset, bytes, row);
      if (chunk != nullptr && row && chunk->rows && chunk->shift == shift &&
          touch_row(*chunk, in_chunk >> chunk->cell_shift(), plane_of(here.access, 0), here)) {
        whole_row = true;
        return;
      }
      if (chunk != nullptr && (chunk->rows || shift < chunk->shift)) refine(*chunk, shift, here.pool);
    }
    if (chunk == nullptr) ++stats_.unchecked_accesses;
    else lane_cells(*chunk, in_chunk, lane, here);
  });
}

void ClockEngine::cell_access(const Here& here) {
  if (here.access.allocation != nullptr) {
    const std::uint64_t before = pool_.bytes();
    global_cells(here);
    stats_.shadow_bytes += pool_.bytes() - before;
    return;
  }
  Chunk& chunk = here.window.shared;
  const std::uint8_t shift = CellStore<RecordCell>::shift_of(here.access.bytes);
  if (shift < chunk.shift) {
    refine(chunk, shift, here.pool);
    finest_shared_ = std::min(finest_shared_, shift);
  }
  for_lanes(here.access.mask, [&](std::uint32_t lane) {
    lane_cells(chunk, static_cast<std::uint32_t>((*here.access.addresses)[lane]), lane, here);
  });
}

}  // namespace kforge::emulator
