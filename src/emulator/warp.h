// The state of a running grid: Launch > Block > Warp > Group of lanes.
//
// Lanes of a warp carry their own program counters: lanes with the same frame and pc form a Group, and a warp is a
// short list of groups, one of which runs. The lowest pc (in the deepest frame) runs first, which reconverges without a
// control-flow graph; a slice limit rotates to the others, so that a lock inside a warp makes progress.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "emulator/barrier_watch.h"
#include "emulator/bulk_copy.h"
#include "emulator/code.h"
#include "emulator/lanes.h"
#include "emulator/shadow.h"
#include "emulator/slot_bytes.h"
#include "emulator/wgmma_state.h"

namespace kforge::emulator {

struct Launch;
struct Block;
struct BlockRaces;
struct Cluster;
class LoadTrace;

inline constexpr std::uint32_t kNoPc = 0xffffffffu;

struct Frame {
  const FunctionCode* function = nullptr;
  SlotBytes registers;
  std::vector<std::byte> params;        // 32 lanes of param_bytes
  std::uint32_t local_base = 0;         // offset of its .local variables in each lane's local memory
  std::uint32_t local_top = 0;          // and where what it uses of that ends: .local variables, then what alloca gave out
  std::vector<std::uint32_t> stack;     // alloca: where each lane's use ends; empty until there was one
  std::uint32_t depth = 0;
  Frame* parent = nullptr;
  std::uint32_t return_pc = 0;
  const CallSite* site = nullptr;       // of the call that made it
  std::uint32_t lanes = 0;              // not yet returned
  std::unique_ptr<WarpShadow> shadow;   // while it holds undefined bytes
  std::unique_ptr<ByteShadow> params_shadow;   // over `params`, once undefined bytes were stored there
};

enum class Wait : std::uint8_t { none, barrier, warp_sync };

struct Group {
  Frame* frame = nullptr;
  std::uint32_t pc = 0;
  std::uint32_t mask = 0;
  Wait wait = Wait::none;
  std::uint32_t sync_mask = 0;          // warp_sync: the lanes that the instruction names; none: see sleep.h
  std::uint8_t barrier = 0;
  std::uint64_t spun_at = ~std::uint64_t{0};   // Launch::stores when it was last found to spin: see run_warp.cc
  std::uint64_t last_run = 0;
  const Op* reduction = nullptr;        // bar.red: gets its result when the barrier completes
};

// One cp.async of a warp that has not been waited for.
struct PendingCopy {
  const Op* op = nullptr;
  std::uint32_t mask = 0;
  LaneAddresses to, from;               // of the mask's lanes, as what follows
  std::array<std::uint32_t, 32> bytes, group;
  bool regular = false;                 // all lanes move all bytes, as nothing observes

  PendingCopy() {}   // written out, so that the arrays are not filled with zeroes first
};

struct Warp {
  std::array<std::byte*, kBanks> bases{};
  std::uint32_t active = 0;             // running group
  std::uint32_t pc = 0;
  Frame* frame = nullptr;
  std::uint32_t stop_pc = kNoPc;        // lowest pc of another ready group of the same frame
  std::uint32_t live = 0;               // lanes that have not exited
  std::uint32_t index = 0;              // in the block
  std::uint32_t initial = 0;            // lanes that exist
  std::uint32_t exited_since_barrier = 0;   // since the last barrier of the block
  BarrierState barriers;
  Block* block = nullptr;
  Launch* launch = nullptr;
  std::vector<Group> groups;            // all others
  SlotBytes specials;
  std::vector<std::byte> local;         // 32 lanes of local_stride bytes
  std::uint32_t local_stride = 0;
  ByteShadow local_shadow;              // over `local`
  std::vector<PendingCopy> pending_copies;
  std::array<std::uint32_t, 32> async_groups{};   // committed by each lane
  bool tainted = false;                 // some register holds an undefined byte
  std::vector<std::unique_ptr<Frame>> frames;   // [0] the entry's; others in use or spare
  std::vector<Frame*> spare_frames;
  // Spin detection: see run_warp.cc.
  bool forced_sync = false;             // the lanes that a mask names will never all come: go on with those here
  std::uint32_t watch_pc = kNoPc;       // the backward branch's target that is watched
  std::uint64_t watch_hash = 0, watch_stores = 0;
  std::uint32_t watch_count = 0, watch_next = 1;
  bool watching = false;
  bool visited = false;                 // ran a whole quantum since it last waited
  std::vector<BulkCopy> bulk_stores;    // from shared memory, not waited for
  std::array<std::uint32_t, 32> bulk_groups{};    // committed by each lane
  WgmmaState wgmma;
  std::uint32_t cluster_arrived = 0;               // lanes that have arrived at the cluster's barrier and not waited for it
  std::array<std::uint32_t, 32> cluster_phase{};   // in which of its phases

  std::byte* at(Ref ref) const { return bases[static_cast<std::size_t>(ref.bank)] + ref.offset; }
  bool done() const { return live == 0; }
};

// ---- lanes of a slot -----------------------------------------------------------------------------------------------

template <class T>
using Lane = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
inline T get(const std::byte* slot, std::uint32_t lane) {
  T value;
  std::memcpy(&value, slot + lane * sizeof(Lane<T>), sizeof(T));
  return value;
}

template <class T>
inline void put(std::byte* slot, std::uint32_t lane, T value) {
  if constexpr (sizeof(T) >= 4) {
    std::memcpy(slot + lane * sizeof(T), &value, sizeof(T));
  } else {
    std::uint32_t wide = 0;
    std::memcpy(&wide, &value, sizeof(T));
    std::memcpy(slot + lane * 4, &wide, 4);
  }
}

inline std::uint32_t predicate(const std::byte* slot) {
  std::uint32_t mask;
  std::memcpy(&mask, slot, 4);
  return mask;
}

inline void put_predicate(std::byte* slot, std::uint32_t value, std::uint32_t mask) {
  const std::uint32_t merged = (predicate(slot) & ~mask) | (value & mask);
  std::memcpy(slot, &merged, 4);
}

// ---- blocks and launches -------------------------------------------------------------------------------------------

struct Barrier {
  std::uint32_t arrived = 0;               // lanes
  std::uint32_t expected = 0;              // threads; 0: all that live
  std::uint32_t first_pc = kNoPc;
  std::uint32_t red_and = 1, red_or = 0, red_count = 0;   // bar.red
  std::vector<std::uint32_t> arrived_lanes, waiting_lanes;   // by warp, in this phase; empty: nobody came

  // For the next phase. It keeps its room: blocks meet at every few instructions.
  void restart() {
    arrived = expected = 0;
    first_pc = kNoPc;
    red_and = 1, red_or = red_count = 0;
    arrived_lanes.clear();
    waiting_lanes.clear();
  }
};

struct Block {
  evidence::Dim3 index;
  std::uint64_t linear = 0;
  Launch* launch = nullptr;
  std::vector<std::byte> shared;
  ByteShadow shared_shadow;
  SlotBytes specials;
  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  std::uint32_t awaited_barriers = 0;   // bit i: somebody came to barriers[i] in this phase
  std::uint32_t live_warps = 0;
  std::uint32_t live_threads = 0;
  BlockRaces* races = nullptr;
  LoadTrace* trace = nullptr;   // of the block whose loads are recorded
  std::vector<BulkCopy> bulk_loads;             // on their way into `shared`
  std::vector<WarpgroupReads> warpgroup_reads;
  std::shared_ptr<Cluster> cluster;             // cluster.h
  std::uint64_t reached_first = ~std::uint64_t{0}, reached_end = 0;   // offsets between which other blocks of it reached into `shared`
};

}  // namespace kforge::emulator
