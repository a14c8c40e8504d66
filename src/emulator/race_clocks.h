// State of the clock engine (race_clocks.cc): what threads know, what flags carry, and which accesses cells remember.
#pragma once

#include <unordered_map>

#include "emulator/race_engine.h"
#include "emulator/race_knowledge.h"
#include "emulator/race_records.h"

namespace kforge::emulator {

// How far a fence, a flag or knowledge carried by one reaches: within the block, or beyond (cluster counts as beyond).
enum Reach : std::uint32_t { kBlockReach, kDeviceReach, kReaches };
inline Reach reach_of(ptx::Scope scope) { return scope == ptx::Scope::cta ? kBlockReach : kDeviceReach; }

// What passes between a thread and fences that come later. Rarely needed: kept apart.
struct FenceState {
  std::array<Knowledge, kReaches> fenced;     // what a relaxed write publishes: known at the last fence of that reach ...
  std::array<RaceTime, kReaches> fenced_self{};  // ... and the thread's own accesses up to this time
  std::array<Knowledge, kReaches> pending;    // read from flags by relaxed reads: known after the next fence of that reach
  Knowledge by_atomics;                       // the part of it that came by atomics (RaceKind::missing_acquire)
};

struct ThreadKnowledge {
  Knowledge own;       // of the thread's block
  Knowledge foreign;   // of others (may repeat some of its own)
  std::unique_ptr<FenceState> fences;
};

// What threads bring to a barrier and take from it.
struct Meeting {
  Knowledge own, foreign;
  std::array<Knowledge, kReaches> fenced, pending;
  Knowledge by_atomics;
  bool fences = false;   // any of the last three
};

// A flag, counter or lock: what its present value publishes. Per block for what reaches that block only.
struct SyncObject {
  Knowledge device;
  std::vector<std::pair<std::uint32_t, Knowledge>> blocks;
  Knowledge visible_to(std::uint32_t block, Reach reach) const;
  void publish(std::uint32_t block, Reach reach, const Knowledge& knowledge);
};

struct ClockBlock : BlockRaces {
  RaceTime barrier_time = 0;                 // all threads of the block know each other up to here
  std::vector<ThreadKnowledge> state;        // by thread, rounded up to warps
  bool fences = false;                       // some thread has a FenceState
  Meeting common;                            // what full barriers left for all threads (fenced, pending); `own` unused
  Knowledge softly_acquired;                 // by_atomics that passed a barrier
  std::unordered_map<std::uint32_t, Meeting> arrivals;       // by named barrier
  std::unordered_map<std::uint64_t, SyncObject> flags;       // in shared memory, by offset
  RecordPool pool;                           // of the shared window
  CellChunk<RecordCell> shared;
  bool reached = false;                      // threads of other blocks were in the shared window
};

}  // namespace kforge::emulator
