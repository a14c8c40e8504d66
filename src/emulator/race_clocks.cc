// The clock engine: what each thread knows of all others (race_knowledge.h), carried by barriers, fences and flags.
//
// Release and acquire follow the PTX model's patterns. A release operation publishes all its thread knows; a relaxed write
// publishes what was known at the thread's last fence; a relaxed read takes a flag's knowledge into `pending`, which the next
// fence makes known. Barriers hand on what was fenced and what is pending, so that "all fence, barrier, thread 0 signals" and
// "thread 0 sees the flag, barrier, all fence" count as ordered, as they are on the hardware. Read-modify-writes continue a
// release sequence; plain strong stores replace it.
//
// Which accesses memory remembers, and how they are compared, is in race_clock_cells.cc.
#include "emulator/race_clock_engine.h"

namespace kforge::emulator {
namespace {

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

// ---- knowledge -----------------------------------------------------------------------------------------------------

Knowledge ClockEngine::all_known(ClockBlock& block, std::uint32_t warp, std::uint32_t lane) {
  ThreadKnowledge& me = thread(block, warp, lane);
  Knowledge result = me.own;
  result.join(me.foreign);
  return result;
}

// What the lane's last fence of that reach covered.
Knowledge ClockEngine::fenced(ClockBlock& block, std::uint32_t warp, std::uint32_t lane, std::uint32_t reach) {
  const ThreadKnowledge& me = thread(block, warp, lane);
  Knowledge known = block.common.fenced[reach];
  if (me.fences == nullptr) return known;
  known.join(me.fences->fenced[reach]);
  if (me.fences->fenced_self[reach] != 0) known.add({block.linear, warp + 1, 1u << lane, me.fences->fenced_self[reach]});
  return known;
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

void ClockEngine::shuffle(BlockRaces* handle, std::uint32_t warp, std::uint32_t mask) {
  ClockBlock& block = of(handle);
  Knowledge acquired;
  bool alike = true;
  const Knowledge* last = nullptr;
  for_lanes(mask, [&](std::uint32_t lane) {
    const Knowledge& known = thread(block, warp, lane).foreign;
    if (last != nullptr && last->same_as(known)) return;
    alike = last == nullptr;
    acquired.join(known);
    last = &known;
  });
  if (alike) return;
  for_lanes(mask, [&](std::uint32_t lane) { thread(block, warp, lane).foreign = acquired; });
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

void ClockEngine::release_fenced(BlockRaces* handle, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) {
  ClockBlock& block = of(handle);
  for_lanes(mask, [&](std::uint32_t lane) { objects_[key].publish(block.linear, reach_of(scope), fenced(block, warp, lane, static_cast<std::uint32_t>(reach_of(scope)))); });
  ++now_;
}

void ClockEngine::acquire(BlockRaces* handle, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) {
  ClockBlock& block = of(handle);
  const auto object = objects_.find(key);
  if (object == objects_.end()) return;
  const Knowledge knowledge = object->second.visible_to(block.linear, reach_of(scope));
  for_lanes(mask, [&](std::uint32_t lane) { learn(thread(block, warp, lane).foreign, knowledge); });
}

// Lanes that knew the same and learn the same go on sharing one object: whole warps wait for a pipeline's barriers, at every step.
void ClockEngine::learn(Knowledge& known, const Knowledge& from) {
  if (!known.same_as(last_learnt_.before) || !from.same_as(last_learnt_.from)) {
    Knowledge before = known;
    known.join(from);
    last_learnt_ = {std::move(before), from, known};
  } else {
    known = last_learnt_.after;
  }
}

// ---- flags ---------------------------------------------------------------------------------------------------------

SyncObject* ClockEngine::flag(const Here& here, std::uint32_t lane, bool make) {
  const std::uint64_t address = (*here.access.addresses)[lane];
  auto& flags = here.access.allocation == nullptr ? here.window.flags : flags_;
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
    learn(me.foreign, block);
    if (!device.empty()) learn(me.foreign, device);
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
  if (here.access.kind == AccessKind::store) object = {};
  const Reach reach = reach_of(here.access.scope);
  if (releases(here.access.order)) {
    Knowledge known = all_known(here.block, warp, lane);
    known.add({block, warp + 1, 1u << lane, now_});
    object.publish(block, reach, known);
    return;
  }
  for (std::uint32_t by = 0; by < kReaches; ++by) {
    object.publish(block, std::min(reach, static_cast<Reach>(by)), fenced(here.block, warp, lane, by));
  }
}

// ---- one access ----------------------------------------------------------------------------------------------------

void ClockEngine::access(const RaceAccess& access) {
  ClockBlock& block = of(access.block);
  ClockBlock& window = access.window != nullptr ? of(access.window) : block;
  if (&window != &block) window.reached = true;
  const Here here{access, block, window, access.allocation == nullptr ? window.pool : pool_,
                  access.location <= kMaxLocation ? access.location : 0};
  const bool strong = access.strong || access.kind == AccessKind::atomic;
  if (!strong) return cell_access(here);
  if (access.kind != AccessKind::store)
    for_lanes(access.mask, [&](std::uint32_t lane) {
      if (SyncObject* object = flag(here, lane, false)) acquire_flag(here, lane, *object);
      if (relaxed_flags_ && access.allocation != nullptr) relaxed_.see((*access.addresses)[lane], moment(here));
    });
  cell_access(here);
  if (access.kind == AccessKind::load) return;
  const std::uint32_t writers = access.mask & (access.kind == AccessKind::atomic ? access.wrote : ~0u);
  for_lanes(writers, [&](std::uint32_t lane) {
    const bool publishing = publishes(here, lane);
    if (SyncObject* object = flag(here, lane, publishing)) publish_flag(here, lane, *object);
  });
  const bool sets_flag = relaxed_flags_ && access.kind == AccessKind::store && access.allocation != nullptr;
  if (sets_flag)
    for_lanes(writers, [&](std::uint32_t lane) {
      relaxed_.set((*access.addresses)[lane], moment(here));
    });
  if (sets_flag || releases(access.order)) ++now_;
}

std::unique_ptr<RaceEngine> make_clock_engine(std::uint32_t threads, bool relaxed_flags, RaceLog& log, RaceStats& stats, std::uint64_t cap, std::uint32_t index) {
  return std::make_unique<ClockEngine>(threads, relaxed_flags, log, stats, cap, index);
}

}  // namespace kforge::emulator
