#include "emulator/race_epochs.h"

#include <algorithm>
#include <bit>

namespace kforge::emulator {
namespace epochs {

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

template <class Kept>
void EpochEngine::refine(CellChunk<Kept>& chunk, std::uint32_t shift) {
  if (chunk.rows)
    chunk.subdivide(5, stats_.shadow_bytes, [](Kept cell, std::uint32_t lane) {
      add_lane(cell, lane);   // rows are made by lane 0 for all
      return cell;
    });
  if (shift < chunk.shift)
    chunk.subdivide(chunk.shift - shift, stats_.shadow_bytes, [](const Kept& cell, std::uint32_t) { return cell; });
}

void EpochEngine::forget_requests() {
  std::vector<bool> in_use(requests_.count());
  std::uint64_t cells = 0;
  for (const Allocation* allocation : cells_.allocations())
    for (const auto& chunk : cells_.directory(*allocation)->chunks)
      for (std::uint32_t plane = 0; chunk != nullptr && plane < kPlanes; ++plane) {
        const PackedCell* cell = chunk->planes[plane].get();
        if (cell == nullptr) continue;
        cells += chunk->cells();
        for (const PackedCell* end = cell + chunk->cells(); cell != end; ++cell) in_use[cell->request()] = true;
      }
  const std::uint64_t before = requests_.bytes();
  requests_.forget(in_use, cells);
  stats_.shadow_bytes += requests_.bytes() - before;
}

std::uint32_t EpochEngine::request_of(const Here& here) {
  const Slot slot = here.stamp | Slot{here.warp} * 32;
  std::uint32_t request = requests_.find_or_add(slot, here.block);
  if (request == 0) [[unlikely]] {
    forget_requests();
    request = requests_.find_or_add(slot, here.block);
  }
  return request;
}

template <class Kept, class Cell>
void EpochEngine::report(const CellChunk<Kept>& chunk, const Cell& cell, std::uint32_t index, std::uint32_t lane, Plane first,
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

template <class Kept>
void EpochEngine::touch(CellChunk<Kept>& chunk, std::uint32_t index, std::uint32_t lane, Plane plane, const Here& here) {
  const std::uint32_t thread = here.warp * 32 + lane;
  for (std::uint32_t other = 0; other < kPlanes; ++other) {
    if (!kConflicts[plane][other] || chunk.planes[other] == nullptr) continue;
    const auto cell = look_at(chunk.planes[other][index]);
    if (cell.slot == 0 || is_ordered(cell, thread, here)) continue;
    if (other == kStrongWrite && follows_update(cell, thread, here)) continue;
    report(chunk, cell, index, lane, static_cast<Plane>(other), plane, here);
  }
  Kept& kept = plane_cells(chunk, plane)[index];
  if (plane == kWrite) keep(kept, here.stamp | thread, here);
  else merge_into(kept, thread, here);
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

void EpochEngine::global_row(const Here& here, CellChunk<PackedCell>& chunk, std::uint32_t offset) {
  touch(chunk, offset >> chunk.cell_shift(), 0, plane_of(*here.access, 0), here);
}

void EpochEngine::global_access(const Here& here) {
  Allocation& allocation = *here.access->allocation;
  const std::uint32_t bytes = here.access->bytes;
  const bool row = is_row(*here.access, allocation.base);
  const std::uint8_t shift = CellStore<PackedCell>::shift_of(bytes);
  std::uint64_t chunk_number = ~std::uint64_t{0};
  CellChunk<PackedCell>* chunk = nullptr;
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
  Here here{&access, access.kind == AccessKind::load, block.linear, access.warp, (Slot{block.barrier_clock} + 1) << kClockAt, clock << kClockAt,
                  clock << kClockAt | Slot{location} << kLocationAt | Slot{access.kind == AccessKind::atomic} << kUpdateAt};
  if (access.allocation == nullptr) {
    order_with_log(block, access);
    shared_access(block, here);
  } else {
    here.request = request_of(here);
    if (here.request != 0) global_access(here);
    else stats_.unchecked_accesses += static_cast<std::uint32_t>(std::popcount(access.mask));
  }
}

}  // namespace epochs

std::unique_ptr<RaceEngine> make_epoch_engine(std::uint32_t threads, RaceLog& log, RaceStats& stats, std::uint64_t cap, std::uint32_t index) {
  return std::make_unique<epochs::EpochEngine>(threads, log, stats, cap, index);
}

}  // namespace kforge::emulator
