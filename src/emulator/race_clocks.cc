// The clock engine: what each thread knows of all others (race_knowledge.h), carried by barriers, fences and flags.
//
// Release and acquire follow the PTX model's patterns. A release operation publishes all its thread knows; a relaxed write
// publishes what was known at the thread's last fence; a relaxed read takes a flag's knowledge into `pending`, which the next
// fence makes known. Barriers hand on what was fenced and what is pending, so that "all fence, barrier, thread 0 signals" and
// "thread 0 sees the flag, barrier, all fence" count as ordered, as they are on the hardware. Read-modify-writes continue a
// release sequence; plain strong stores replace it.
#include "emulator/race_clocks.h"

namespace kforge::emulator {
namespace {

constexpr std::uint32_t kRememberedReaders = 8;  // unordered accesses kept a cell and kind; the latest ones

bool acquires(ptx::Order order) {
  return order == ptx::Order::acquire || order == ptx::Order::acq_rel || order == ptx::Order::sc;
}
bool releases(ptx::Order order) {
  return order == ptx::Order::release || order == ptx::Order::acq_rel || order == ptx::Order::sc;
}

FenceState& fences_of(ThreadKnowledge& thread) {
  if (thread.fences == nullptr) thread.fences = std::make_unique<FenceState>();
  return *thread.fences;
}

template <class Here>
bool is_update(const Here& here) { return here.access.kind == AccessKind::atomic; }

template <class F>
void for_lanes(std::uint32_t mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

}  // namespace

Knowledge SyncObject::visible_to(std::uint32_t block, Reach reach) const {
  Knowledge result;
  for (const auto& [from, knowledge] : blocks)
    if (from == block) result = knowledge;
  if (reach == kDeviceReach) result.join(device);
  return result;
}

void SyncObject::publish(std::uint32_t block, Reach reach, const Knowledge& knowledge) {
  if (knowledge.empty()) return;
  if (reach == kDeviceReach) device.join(knowledge);
  for (auto& [from, known] : blocks)
    if (from == block) return known.join(knowledge);
  blocks.emplace_back(block, knowledge);
}

std::uint32_t RecordPool::add(const AccessRecord& record) {
  if (free_ != 0) {
    const std::uint32_t index = free_;
    free_ = records_[index].next;
    records_[index] = record;
    return index;
  }
  records_.push_back(record);
  return static_cast<std::uint32_t>(records_.size() - 1);
}

void RecordPool::free_list(std::uint32_t& head) {
  while (head != 0) {
    const std::uint32_t next = records_[head].next;
    free_one(head);
    head = next;
  }
}

namespace {

class ClockEngine final : public RaceEngine {
 public:
  ClockEngine(std::uint32_t threads, RaceLog& log, RaceStats& stats, std::uint64_t cap, std::uint32_t index)
      : threads_(threads), log_(log), stats_(stats), cells_(stats, cap, index) {}

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

  void access(const RaceAccess& access) override;
  void block_barrier(BlockRaces* block) override;
  void named_barrier(BlockRaces*, std::span<const std::uint32_t> arrived, std::span<const std::uint32_t> waited) override;
  void barrier_arrive(BlockRaces*, std::uint32_t barrier, std::uint32_t warp, std::uint32_t mask) override;
  void named_barrier_complete(BlockRaces*, std::uint32_t barrier, std::span<const std::uint32_t> waited) override;
  void warp_sync(BlockRaces* block, std::uint32_t warp, std::uint32_t mask) override;
  void fence(BlockRaces* block, std::uint32_t warp, std::uint32_t mask, ptx::Scope scope) override;
  void release(BlockRaces*, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) override;
  void acquire(BlockRaces*, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) override;

 private:
  using Chunk = CellChunk<RecordCell>;
  struct Here {
    const RaceAccess& access;
    ClockBlock& block;
    RecordPool& pool;
    std::uint32_t location;
  };

  static ClockBlock& of(BlockRaces* block) { return *static_cast<ClockBlock*>(block); }
  ThreadKnowledge& thread(ClockBlock& block, std::uint32_t warp, std::uint32_t lane) { return block.state[warp * 32 + lane]; }
  Knowledge all_known(ClockBlock& block, std::uint32_t warp, std::uint32_t lane);
  void gather(ClockBlock& block, std::uint32_t warp, std::uint32_t mask, Meeting& meeting);
  void scatter(ClockBlock& block, std::uint32_t warp, std::uint32_t mask, const Meeting& meeting);
  void acquire_flag(const Here& here, std::uint32_t lane, SyncObject& object);
  void publish_flag(const Here& here, std::uint32_t lane, SyncObject& object);
  SyncObject* flag(const Here& here, std::uint32_t lane, bool make);
  bool publishes(const Here& here, std::uint32_t lane);
  void refine(Chunk& chunk, std::uint32_t shift, RecordPool& pool);
  RecordCell* plane_cells(Chunk& chunk, Plane plane);
  bool is_ordered(const AccessRecord& record, const Here& here, std::uint32_t lane);
  bool is_soft(const AccessRecord& record, const Here& here, std::uint32_t lane, Plane plane);
  bool touch_row(Chunk& chunk, std::uint32_t index, Plane plane, const Here& here);
  void touch(Chunk& chunk, std::uint32_t index, std::uint32_t lane, Plane plane, const Here& here);
  void remember(RecordCell& cell, std::uint32_t lanes, const Here& here, std::uint32_t lane);
  void report(const Chunk& chunk, const AccessRecord& record, std::uint32_t index, std::uint32_t lane, Plane first, Plane second,
              const Here& here);
  void cell_access(const Here& here);
  void global_cells(const Here& here);
  void lane_cells(Chunk& chunk, std::uint32_t offset, std::uint32_t lane, const Here& here);

  std::uint32_t threads_;
  RaceLog& log_;
  RaceStats& stats_;
  CellStore<RecordCell> cells_;
  RecordPool pool_;
  RaceTime now_ = 1;
  std::uint8_t finest_shared_ = 4;
  std::unordered_map<BlockRaces*, std::unique_ptr<ClockBlock>> blocks_;
  std::unordered_map<std::uint64_t, SyncObject> flags_;     // global memory, by address
  std::unordered_map<std::uint64_t, SyncObject> objects_;   // release() and acquire(), by key
};

// ---- knowledge -----------------------------------------------------------------------------------------------------

Knowledge ClockEngine::all_known(ClockBlock& block, std::uint32_t warp, std::uint32_t lane) {
  ThreadKnowledge& me = thread(block, warp, lane);
  Knowledge result = me.own;
  result.join(me.foreign);
  return result;
}

void ClockEngine::gather(ClockBlock& block, std::uint32_t warp, std::uint32_t mask, Meeting& meeting) {
  const Knowledge *last_own = nullptr, *last_foreign = nullptr;
  for_lanes(mask, [&](std::uint32_t lane) {
    ThreadKnowledge& me = thread(block, warp, lane);
    if (last_own == nullptr || !last_own->same_as(me.own)) meeting.own.join(me.own);
    if (last_foreign == nullptr || !last_foreign->same_as(me.foreign)) meeting.foreign.join(me.foreign);
    last_own = &me.own;
    last_foreign = &me.foreign;
    if (me.fences == nullptr) return;
    meeting.fences = true;
    for (std::uint32_t reach = 0; reach < kReaches; ++reach) {
      meeting.fenced[reach].join(me.fences->fenced[reach]);
      if (me.fences->fenced_self[reach] != 0)
        meeting.fenced[reach].add({block.linear, warp + 1, 1u << lane, me.fences->fenced_self[reach]});
      meeting.pending[reach].join(me.fences->pending[reach]);
    }
    meeting.by_atomics.join(me.fences->by_atomics);
  });
  if (mask != 0) meeting.own.add({block.linear, warp + 1, mask, now_});
}

void ClockEngine::scatter(ClockBlock& block, std::uint32_t warp, std::uint32_t mask, const Meeting& meeting) {
  for_lanes(mask, [&](std::uint32_t lane) {
    ThreadKnowledge& me = thread(block, warp, lane);
    me.own = meeting.own;
    me.foreign = meeting.foreign;
    if (!meeting.fences) return;
    FenceState& fences = fences_of(me);
    block.fences = true;
    for (std::uint32_t reach = 0; reach < kReaches; ++reach) {
      fences.fenced[reach] = meeting.fenced[reach];
      fences.pending[reach] = meeting.pending[reach];
    }
    fences.by_atomics = meeting.by_atomics;
  });
}

void ClockEngine::block_barrier(BlockRaces* handle) {
  ClockBlock& block = of(handle);
  const auto entry = KnowledgeEntry{block.linear, KnowledgeEntry::kWholeBlock, 0, now_};
  const Knowledge* last = nullptr;
  Knowledge foreign;
  for (ThreadKnowledge& thread : block.state) {
    if (last == nullptr || !last->same_as(thread.foreign)) foreign.join(thread.foreign);
    last = &thread.foreign;
  }
  if (block.fences) {
    Meeting meeting;
    for (std::uint32_t warp = 0; warp < block.state.size() / 32; ++warp) gather(block, warp, ~0u, meeting);
    for (std::uint32_t reach = 0; reach < kReaches; ++reach) {
      block.common.fenced[reach].join(meeting.fenced[reach]);
      block.common.pending[reach].join(meeting.pending[reach]);
    }
    block.softly_acquired.join(meeting.by_atomics);
    for (ThreadKnowledge& thread : block.state) thread.fences.reset();
    block.fences = false;
  }
  const Knowledge own = Knowledge::of(entry);
  for (ThreadKnowledge& thread : block.state) {
    thread.own = own;
    thread.foreign = foreign;
  }
  block.barrier_time = now_++;
}

void ClockEngine::named_barrier(BlockRaces* handle, std::span<const std::uint32_t> arrived, std::span<const std::uint32_t> waited) {
  ClockBlock& block = of(handle);
  Meeting meeting;
  for (std::uint32_t warp = 0; warp < arrived.size(); ++warp) gather(block, warp, arrived[warp], meeting);
  block.softly_acquired.join(meeting.by_atomics);
  for (std::uint32_t warp = 0; warp < waited.size(); ++warp) scatter(block, warp, waited[warp], meeting);
  ++now_;
}

void ClockEngine::barrier_arrive(BlockRaces* handle, std::uint32_t barrier, std::uint32_t warp, std::uint32_t mask) {
  ClockBlock& block = of(handle);
  gather(block, warp, mask, block.arrivals[barrier]);
  ++now_;
}

void ClockEngine::named_barrier_complete(BlockRaces* handle, std::uint32_t barrier, std::span<const std::uint32_t> waited) {
  ClockBlock& block = of(handle);
  Meeting meeting = std::exchange(block.arrivals[barrier], {});
  for (std::uint32_t warp = 0; warp < waited.size(); ++warp) gather(block, warp, waited[warp], meeting);
  block.softly_acquired.join(meeting.by_atomics);
  for (std::uint32_t warp = 0; warp < waited.size(); ++warp) scatter(block, warp, waited[warp], meeting);
  ++now_;
}

void ClockEngine::warp_sync(BlockRaces* handle, std::uint32_t warp, std::uint32_t mask) {
  ClockBlock& block = of(handle);
  Meeting meeting;
  gather(block, warp, mask, meeting);
  scatter(block, warp, mask, meeting);
  ++now_;
}

void ClockEngine::fence(BlockRaces* handle, std::uint32_t warp, std::uint32_t mask, ptx::Scope scope) {
  ClockBlock& block = of(handle);
  block.fences = true;
  for_lanes(mask, [&](std::uint32_t lane) {
    ThreadKnowledge& me = thread(block, warp, lane);
    FenceState& fences = fences_of(me);
    for (std::uint32_t reach = 0; reach <= reach_of(scope); ++reach) {
      me.foreign.join(fences.pending[reach]);
      me.foreign.join(block.common.pending[reach]);
      fences.pending[reach] = {};
    }
    if (scope != ptx::Scope::cta) fences.by_atomics = {};
    const Knowledge known = all_known(block, warp, lane);
    for (std::uint32_t reach = 0; reach <= reach_of(scope); ++reach) {
      fences.fenced[reach] = known;
      fences.fenced_self[reach] = now_;
    }
  });
  ++now_;
}

void ClockEngine::release(BlockRaces* handle, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) {
  ClockBlock& block = of(handle);
  Meeting meeting;
  gather(block, warp, mask, meeting);
  meeting.own.join(meeting.foreign);
  objects_[key].publish(block.linear, reach_of(scope), meeting.own);
  ++now_;
}

void ClockEngine::acquire(BlockRaces* handle, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) {
  ClockBlock& block = of(handle);
  const auto object = objects_.find(key);
  if (object == objects_.end()) return;
  const Knowledge knowledge = object->second.visible_to(block.linear, reach_of(scope));
  for_lanes(mask, [&](std::uint32_t lane) { thread(block, warp, lane).foreign.join(knowledge); });
}

// ---- flags ---------------------------------------------------------------------------------------------------------

SyncObject* ClockEngine::flag(const Here& here, std::uint32_t lane, bool make) {
  const std::uint64_t address = (*here.access.addresses)[lane];
  auto& flags = here.access.allocation == nullptr ? here.block.flags : flags_;
  if (make) return &flags[address];
  if (flags.empty()) return nullptr;
  const auto found = flags.find(address);
  return found == flags.end() ? nullptr : &found->second;
}

void ClockEngine::acquire_flag(const Here& here, std::uint32_t lane, SyncObject& object) {
  ThreadKnowledge& me = thread(here.block, here.access.warp, lane);
  const Reach reach = reach_of(here.access.scope);
  const Knowledge device = reach == kDeviceReach ? object.device : Knowledge();
  const Knowledge block = object.visible_to(here.block.linear, kBlockReach);
  if (acquires(here.access.order)) {
    me.foreign.join(block);
    me.foreign.join(device);
    return;
  }
  FenceState& fences = fences_of(me);
  here.block.fences = true;
  fences.pending[kBlockReach].join(block);
  fences.pending[kDeviceReach].join(device);
  if (here.access.kind != AccessKind::atomic) return;
  fences.by_atomics.join(block);
  fences.by_atomics.join(device);
}

// What the lane's relaxed write would publish may be nothing: then no flag is made.
bool ClockEngine::publishes(const Here& here, std::uint32_t lane) {
  const ThreadKnowledge& me = thread(here.block, here.access.warp, lane);
  return releases(here.access.order) || (me.fences != nullptr && me.fences->fenced_self[kBlockReach] != 0) ||
         (me.fences != nullptr && !me.fences->fenced[kBlockReach].empty()) || !here.block.common.fenced[kBlockReach].empty();
}

void ClockEngine::publish_flag(const Here& here, std::uint32_t lane, SyncObject& object) {
  const std::uint32_t warp = here.access.warp, block = here.block.linear;
  const ThreadKnowledge& me = thread(here.block, warp, lane);
  if (here.access.kind == AccessKind::store) object = {};
  const Reach reach = reach_of(here.access.scope);
  if (releases(here.access.order)) {
    Knowledge known = all_known(here.block, warp, lane);
    known.add({block, warp + 1, 1u << lane, now_});
    object.publish(block, reach, known);
    return;
  }
  for (std::uint32_t by = 0; by < kReaches; ++by) {
    Knowledge known = here.block.common.fenced[by];
    if (me.fences != nullptr) {
      known.join(me.fences->fenced[by]);
      if (me.fences->fenced_self[by] != 0) known.add({block, warp + 1, 1u << lane, me.fences->fenced_self[by]});
    }
    object.publish(block, std::min(reach, static_cast<Reach>(by)), known);
  }
}

// ---- cells ---------------------------------------------------------------------------------------------------------

RecordCell* ClockEngine::plane_cells(Chunk& chunk, Plane plane) {
  if (chunk.planes[plane] == nullptr) {
    chunk.planes[plane] = std::make_unique<RecordCell[]>(chunk.cells());
    stats_.shadow_bytes += sizeof(RecordCell) * chunk.cells();
  }
  return chunk.planes[plane].get();
}

void ClockEngine::refine(Chunk& chunk, std::uint32_t shift, RecordPool& pool) {
  const auto split = [&](std::uint32_t finer, bool rows) {
    chunk.subdivide(finer, stats_.shadow_bytes, [&](RecordCell cell, std::uint32_t i) {
      RecordCell child;
      std::uint32_t last = 0;
      for (std::uint32_t at = cell.head; at != 0; at = pool[at].next) {   // newest first, as it was
        AccessRecord copy = pool[at];
        copy.next = 0;
        if (rows) copy.lanes = 1u << i;
        const std::uint32_t added = pool.add(copy);
        (last == 0 ? child.head : pool[last].next) = added;
        last = added;
      }
      if (i + 1 == 1u << finer) pool.free_list(cell.head);
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

void ClockEngine::report(const Chunk& chunk, const AccessRecord& record, std::uint32_t index, std::uint32_t lane, Plane first,
                         Plane second, const Here& here) {
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
  race.kind = kind_of(first, second);
  const bool this_request = record.time == now_ && record.warp == access.warp && !race.across_blocks;
  if (race.kind == RaceKind::write_write &&
      stores_same_value(access, lane, race.address, 1u << chunk.shift, this_request ? race.first.thread % 32 : 32))
    race.kind = RaceKind::same_value;
  else if (is_soft(record, here, lane, second))
    race.kind = RaceKind::missing_acquire;
  race.advice = race.kind == RaceKind::same_value || race.kind == RaceKind::missing_acquire;
  log_.add(race);
}

// Adds an access to those that may run at the same time; what is ordered before it need not be remembered beside it.
void ClockEngine::remember(RecordCell& cell, std::uint32_t lanes, const Here& here, std::uint32_t lane) {
  RecordPool& pool = here.pool;
  std::uint32_t kept = 0;
  bool merged = false;
  for (std::uint32_t* link = &cell.head; *link != 0;) {
    const std::uint32_t at = *link;
    AccessRecord& record = pool[at];
    const bool same = record.block == here.block.linear && record.warp == here.access.warp && record.time == now_ &&
                      record.location == here.location && (at == cell.head || here.access.kind == AccessKind::load);
    if (same) {
      record.lanes |= lanes;
      merged = true;
    }
    // A row stands for 32 lanes: only what all of them know may go.
    const bool droppable = lanes != ~0u ? is_ordered(record, here, lane)
                                        : record.block == here.block.linear && (record.time <= here.block.barrier_time || record.warp == here.access.warp);
    if (!same && (droppable || kept >= kRememberedReaders)) {
      *link = record.next;
      pool.free_one(at);
      continue;
    }
    ++kept;
    link = &record.next;
  }
  if (!merged) cell.head = pool.add({here.block.linear, here.access.warp, lanes, now_, here.location, cell.head, is_update(here)});
}

void ClockEngine::touch(Chunk& chunk, std::uint32_t index, std::uint32_t lane, Plane plane, const Here& here) {
  bool raced = false;
  for (std::uint32_t other = 0; other < kPlanes; ++other) {
    if (!kConflicts[plane][other] || chunk.planes[other] == nullptr) continue;
    bool after_update = false;   // of this location, that happened before: so did all writes it came after
    for (std::uint32_t at = chunk.planes[other][index].head; at != 0; at = here.pool[at].next) {
      const bool ordered = is_ordered(here.pool[at], here, lane);
      after_update |= ordered && other == kStrongWrite && here.pool[at].update;
      if (ordered || after_update) continue;
      raced = true;
      report(chunk, here.pool[at], index, lane, static_cast<Plane>(other), plane, here);
    }
  }
  RecordCell& cell = plane_cells(chunk, plane)[index];
  if (plane != kWrite) return remember(cell, 1u << lane, here, lane);
  // All that was there is ordered before this write, and so before whatever comes after it.
  for (std::uint32_t other = 0; other < kPlanes; ++other)
    if (chunk.planes[other] != nullptr && (!raced || other == kWrite)) here.pool.free_list(chunk.planes[other][index].head);
  cell.head = here.pool.add({here.block.linear, here.access.warp, 1u << lane, now_, here.location, 0, false});
}

// A full row at once. False: some lane's order is not plain to see, and lanes must be looked at one by one.
bool ClockEngine::touch_row(Chunk& chunk, std::uint32_t index, Plane plane, const Here& here) {
  const ThreadKnowledge& first = thread(here.block, here.access.warp, 0);
  bool alike = true;
  for (std::uint32_t lane = 1; lane < 32; ++lane) {
    const ThreadKnowledge& me = thread(here.block, here.access.warp, lane);
    alike = alike && me.own.same_as(first.own) && me.foreign.same_as(first.foreign);
  }
  for (std::uint32_t other = 0; other < kPlanes; ++other) {
    if (!kConflicts[plane][other] || chunk.planes[other] == nullptr) continue;
    for (std::uint32_t at = chunk.planes[other][index].head; at != 0; at = here.pool[at].next) {
      const AccessRecord& record = here.pool[at];
      const bool own_block = record.block == here.block.linear;
      if (own_block && (record.time <= here.block.barrier_time || record.warp == here.access.warp)) continue;
      if (!alike || !is_ordered(record, here, 0)) return false;
    }
  }
  if (plane == kWrite)
    for (std::uint32_t other = 0; other < kPlanes; ++other)
      if (chunk.planes[other] != nullptr) here.pool.free_list(chunk.planes[other][index].head);
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
  Chunk& chunk = here.block.shared;
  const std::uint8_t shift = CellStore<RecordCell>::shift_of(here.access.bytes);
  if (shift < chunk.shift) {
    refine(chunk, shift, here.pool);
    finest_shared_ = std::min(finest_shared_, shift);
  }
  for_lanes(here.access.mask, [&](std::uint32_t lane) {
    lane_cells(chunk, static_cast<std::uint32_t>((*here.access.addresses)[lane]), lane, here);
  });
}

void ClockEngine::access(const RaceAccess& access) {
  ClockBlock& block = of(access.block);
  const Here here{access, block, access.allocation == nullptr ? block.pool : pool_,
                  access.location <= kMaxLocation ? access.location : 0};
  const bool strong = access.strong || access.kind == AccessKind::atomic;
  if (!strong) return cell_access(here);
  if (access.kind != AccessKind::store)
    for_lanes(access.mask, [&](std::uint32_t lane) {
      if (SyncObject* object = flag(here, lane, false)) acquire_flag(here, lane, *object);
    });
  cell_access(here);
  if (access.kind == AccessKind::load) return;
  const std::uint32_t writers = access.mask & (access.kind == AccessKind::atomic ? access.wrote : ~0u);
  for_lanes(writers, [&](std::uint32_t lane) {
    const bool publishing = publishes(here, lane);
    if (SyncObject* object = flag(here, lane, publishing)) publish_flag(here, lane, *object);
  });
  if (releases(access.order)) ++now_;
}

}  // namespace

std::unique_ptr<RaceEngine> make_clock_engine(std::uint32_t threads, RaceLog& log, RaceStats& stats, std::uint64_t cap, std::uint32_t index) {
  return std::make_unique<ClockEngine>(threads, log, stats, cap, index);
}

}  // namespace kforge::emulator
