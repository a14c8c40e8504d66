// Which lanes run next, and how a launch that never ends is told from a long one.
//
// Inside a warp the group in the deepest frame with the lowest pc runs; it stops where another group waits (`stop_pc`) and
// the two go on as one. A group that spins (below), or that has run kRotation instructions while others are ready, lets the
// others run. A warp runs for a quantum; the warps of a block in turn; a few blocks are resident and each runs as far as
// it can, so that their registers stay in the cache. Blocks that wait for others are helped by making more blocks resident, up to
// what the GPU would hold.
//
// A spin is a return to the same pc, at a backward jump, with bit-equal registers and nothing stored in between: as memory
// did not change either, it will happen again for ever unless somebody else stores. A hang is proven when in a whole
// round over all resident blocks every warp is blocked or spins, and nothing was stored in that round. Registers are compared by a 64-bit
// hash, against a snapshot that is renewed at powers of two, so that loops of any period are found (Brent).
#include "emulator/schedule.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <numeric>
#include <random>

#include "emulator/handlers.h"
#include "emulator/segment_code.h"
#include "emulator/team.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {
namespace {

constexpr std::uint64_t kQuantum = 10'000;        // warp instructions
constexpr std::uint64_t kSuspicious = 1'000;      // the same, when nothing else makes progress
constexpr std::uint64_t kSlice = 256;             // until a group is watched, when others of its warp are ready
constexpr std::uint64_t kRotation = 50'000;
constexpr std::uint32_t kComparisons = 16;        // of register hashes per visit
constexpr std::size_t kResidentBlocks = 8;
constexpr std::size_t kReversedBlocks = 256;     // resident when the youngest runs first

enum class Outcome : std::uint8_t { done, blocked, spins, quantum, failed };

// ---- groups --------------------------------------------------------------------------------------------------------

void park_active(Warp& w) {
  if (w.active == 0) return;
  Group group;
  group.frame = w.frame;
  group.pc = w.pc;
  group.mask = w.active;
  w.groups.push_back(group);
  w.active = 0;
}

void merge_groups(Warp& w) {
  std::vector<Group>& groups = w.groups;
  for (Group& group : groups) group.mask &= w.live;
  std::erase_if(groups, [](const Group& group) { return group.mask == 0; });
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t k = groups.size(); k-- > i + 1;) {
      if (groups[k].pc != groups[i].pc || groups[k].frame != groups[i].frame || groups[k].wait != groups[i].wait || groups[i].wait == Wait::barrier) continue;
      groups[i].mask |= groups[k].mask;
      groups[i].sync_mask |= groups[k].sync_mask;
      groups[i].spun_at = ~std::uint64_t{0};
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
  for (Group& group : groups)
    if (group.wait == Wait::warp_sync && (group.sync_mask & w.live & ~group.mask) == 0) group.wait = Wait::none;
}

bool is_ready(const Warp& w, const Group& group) { return group.wait == Wait::none && group.spun_at != w.launch->stores; }
bool runs_before(const Group& a, const Group& b) {
  return a.frame->depth != b.frame->depth ? a.frame->depth > b.frame->depth : a.pc < b.pc;
}

// Lanes that wait for others of their warp, and no lane of it can move: the mask names lanes that never come.
bool force_warp_sync(Warp& w) {
  const bool all = std::all_of(w.groups.begin(), w.groups.end(), [](const Group& g) { return g.wait != Wait::none; });
  const auto stuck = std::find_if(w.groups.begin(), w.groups.end(), [](const Group& g) { return g.wait == Wait::warp_sync; });
  if (!all || stuck == w.groups.end()) return false;
  // A lane at a block barrier may still be released by other warps only if this warp arrives there as a whole: it will not.
  const Op& op = w.launch->kernel->code[stuck->pc];
  const std::uint32_t missing = stuck->sync_mask & w.live & ~stuck->mask;
  report(w, op, stuck->mask, "safety.barriers", "warp-sync-missing-lanes", [&](evidence::Violation& v) {
    v.message = fmt::format("a warp-synchronous operation names lanes 0x{:08x} that wait elsewhere and never reach it", missing);
    v.measured = fmt::format("lanes 0x{:08x} of mask 0x{:08x} arrived", stuck->mask, stuck->sync_mask);
    v.required = "every live lane that the mask names executes the operation";
  });
  stuck->wait = Wait::none;
  w.forced_sync = true;
  return true;
}

// Makes a group the running one. False: none is ready.
bool pick(Warp& w, bool rotate) {
  park_active(w);
  merge_groups(w);
  Group* best = nullptr;
  const auto choose = [&] {
    for (Group& group : w.groups) {
      if (!is_ready(w, group)) continue;
      if (best == nullptr || (rotate ? group.last_run < best->last_run : runs_before(group, *best))) best = &group;
    }
  };
  choose();
  if (best == nullptr && force_warp_sync(w)) choose();
  if (best == nullptr) return false;
  const Group chosen = *best;
  w.groups.erase(w.groups.begin() + (best - w.groups.data()));
  w.frame = chosen.frame;
  w.bases[static_cast<std::size_t>(Bank::frame)] = chosen.frame->registers.data();
  w.pc = chosen.pc;
  w.active = chosen.mask;
  w.stop_pc = kNoPc;
  for (const Group& group : w.groups)
    if (group.frame == w.frame && group.wait != Wait::barrier && group.pc > w.pc) w.stop_pc = std::min(w.stop_pc, group.pc);
  return true;
}

// ---- spinning ------------------------------------------------------------------------------------------------------

void start_watch(Warp& w) {
  w.watching = true;
  w.watch_count = 0;
  if (w.watch_stores == w.launch->stores) return;   // a snapshot of an earlier visit still counts
  w.watch_pc = kNoPc;
}

// At a backward jump. True: the same state as before.
bool came_back(Warp& w) {
  if (w.watch_pc != kNoPc && w.watch_pc != w.pc) return false;
  const std::uint64_t hash = XXH3_64bits_withSeed(w.frame->registers.data(), w.frame->registers.size(), w.active);
  const bool comparable = w.watch_pc == w.pc && w.watch_stores == w.launch->stores;
  if (comparable && hash == w.watch_hash) return true;
  if (!comparable || ++w.watch_count >= w.watch_next) {
    w.watch_next = comparable ? 2 * w.watch_next : 1;
    w.watch_pc = w.pc;
    w.watch_hash = hash;
    w.watch_stores = w.launch->stores;
    w.watch_count = comparable ? w.watch_count : 0;
  }
  if (w.watch_count >= kComparisons) w.watching = false;
  return false;
}

// ---- one warp ------------------------------------------------------------------------------------------------------

// Counts for the first `count` ops of a segment that was left early.
template <bool kProfile>
std::uint64_t count_partly(Launch& launch, const Segment& segment, std::uint32_t count) {
  std::uint64_t lanes = 0;
  for (std::uint32_t pc = segment.first; pc < segment.first + count; ++pc) {
    const std::uint32_t unguarded = launch.kernel->code[pc].guard == kNoSlot ? 32 : 0;
    lanes += unguarded;
    if constexpr (kProfile) {
      ++launch.ops[pc].executions;
      launch.ops[pc].lanes += unguarded;
      launch.ops[pc].active_lanes += 32;
    }
  }
  return lanes;
}

// Runs a segment; returns the flow of its last op, and adds what was executed.
template <bool kProfile>
Flow run_segment(Warp& w, const Segment& segment, std::uint64_t& used, std::uint64_t& threads, std::uint32_t& pc) {
  Launch& launch = *w.launch;
  SegmentRun run{0, launch.ops.data()};
  const std::uint64_t result = segment.run(&w, &run);
  const auto count = static_cast<std::uint32_t>(result >> 8);
  used += count;
  pc = segment.first + count - 1;
  if (count == segment.end - segment.first) {
    threads += std::uint64_t{32} * segment.unguarded + run.guarded_lanes;
    if constexpr (kProfile) ++launch.segment_runs[segment.index];
  } else {
    threads += count_partly<kProfile>(launch, segment, count) + run.guarded_lanes;
  }
  return static_cast<Flow>(result & 0xff);
}

// What whole runs of segments mean for their ops.
void add_segment_runs(Launch& launch) {
  for (const Segment& segment : launch.segments->segments()) {
    const std::uint64_t runs = std::exchange(launch.segment_runs[segment.index], 0);
    for (std::uint32_t pc = segment.first; launch.profile && pc < segment.end; ++pc) {
      launch.ops[pc].executions += runs;
      launch.ops[pc].lanes += launch.kernel->code[pc].guard == kNoSlot ? 32 * runs : 0;
      launch.ops[pc].active_lanes += 32 * runs;
    }
  }
}

template <Variant kVariant>
Outcome run_warp(Warp& w, std::uint64_t quantum) {
  Launch& launch = *w.launch;
  const Op* code = launch.kernel->code.data();
  constexpr std::size_t kIndex = static_cast<std::size_t>(kVariant);
  std::uint64_t threads = 0, used = 0, slice = 0;
  const auto leave = [&](Outcome outcome) {
    launch.thread_instructions += threads;
    launch.clock += used;
    w.watching = false;
    w.visited = outcome == Outcome::quantum || outcome == Outcome::spins;
    return outcome;
  };
  const auto nothing_ready = [&] {
    if (w.done()) return Outcome::done;
    const bool spins = std::any_of(w.groups.begin(), w.groups.end(), [](const Group& g) { return g.wait == Wait::none; });
    return spins ? Outcome::spins : Outcome::blocked;
  };
  if (w.active == 0 && !pick(w, false)) return nothing_ready();
  if (w.visited) start_watch(w);
  for (;;) {
    std::uint32_t pc = w.pc;
    Flow flow = Flow::next;
    const bool plain = w.active == kFullMask && !(Observes<kVariant>::safety && w.tainted);
    if (const Segment* segment = plain ? launch.segments->at(pc) : nullptr; segment != nullptr && segment->end <= w.stop_pc) {
      flow = run_segment<Observes<kVariant>::profile>(w, *segment, used, threads, pc);
    } else {
      const Op& op = code[pc];
      std::uint32_t mask = w.active;
      if (op.guard != kNoSlot) mask &= predicate(w.bases[0] + op.guard) ^ op.guard_flip;
      const std::uint32_t lanes = mask == kFullMask ? 32 : static_cast<std::uint32_t>(std::popcount(mask));
      if constexpr (Observes<kVariant>::profile) {
        ++launch.ops[pc].executions;
        launch.ops[pc].lanes += lanes;
        launch.ops[pc].active_lanes += op.guard == kNoSlot ? lanes : static_cast<std::uint32_t>(std::popcount(w.active));
      }
      threads += lanes;
      ++used;
      if (Observes<kVariant>::safety && w.tainted) [[unlikely]] flow = run_tainted(w, op, mask, op.run[kIndex]);
      else if (mask != 0) flow = op.run[kIndex](w, op, mask);
      if (Observes<kVariant>::safety && mask == 0 && op.watch != kNoSlot) op.run[kIndex](w, op, 0);
    }
    if (flow == Flow::next) [[likely]] {
      ++w.pc;
      if (w.pc < w.stop_pc && used < quantum) continue;
    }
    if (launch.failed()) return leave(Outcome::failed);
    if (flow == Flow::jump && w.pc <= pc && w.watching && came_back(w)) {
      park_active(w);
      for (Group& group : w.groups)
        if (group.frame == w.frame && group.pc == w.pc && group.wait == Wait::none) group.spun_at = launch.stores;
      w.watch_pc = kNoPc;
      if (!pick(w, false)) return leave(nothing_ready());
      slice = used;
    }
    if (flow == Flow::regroup || w.pc >= w.stop_pc) {
      if (!pick(w, false)) return leave(nothing_ready());
      if (w.groups.empty()) slice = used;
    }
    if (!w.groups.empty()) {
      if (used - slice > kSlice && !w.watching && flow == Flow::jump) start_watch(w);
      if (used - slice > kRotation) {
        park_active(w);
        w.groups.back().last_run = launch.clock + used;
        if (!pick(w, true)) return leave(nothing_ready());
        w.stop_pc = kNoPc;
        slice = used;
      }
    }
    if (used >= quantum) return leave(Outcome::quantum);
  }
}

using Runner = Outcome (*)(Warp&, std::uint64_t);
constexpr Runner kRunners[kVariants] = {&run_warp<Variant::plain>, &run_warp<Variant::safety>, &run_warp<Variant::profile>, &run_warp<Variant::all>};

// ---- blocks --------------------------------------------------------------------------------------------------------

evidence::Dim3 block_index(const evidence::Dim3& grid, std::uint64_t linear) {
  return {static_cast<std::uint32_t>(linear % grid.x), static_cast<std::uint32_t>(linear / grid.x % grid.y),
          static_cast<std::uint32_t>(linear / grid.x / grid.y)};
}

void put_uniform(std::byte* bank, ptx::SpecialRegister special, std::uint32_t value) {
  const SpecialPlace to = place_of(special);
  for (std::uint32_t i = 0; i < 32; ++i) put<std::uint32_t>(bank + to.offset, i, value);
}

void fill_warp_bank(const Launch& launch, Warp& w) {
  using S = ptx::SpecialRegister;
  w.specials.assign(bank_bytes(Bank::warp), std::byte{0});
  std::byte* bank = w.specials.data();
  std::byte* const x = bank + place_of(S::tid_x).offset;
  std::byte* const y = bank + place_of(S::tid_y).offset;
  std::byte* const z = bank + place_of(S::tid_z).offset;
  evidence::Dim3 thread = thread_index(launch.block_size, w.index * 32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    put<std::uint32_t>(x, i, thread.x);
    put<std::uint32_t>(y, i, thread.y);
    put<std::uint32_t>(z, i, thread.z);
    if (++thread.x < launch.block_size.x) continue;
    thread.x = 0;
    if (++thread.y < launch.block_size.y) continue;
    thread.y = 0;
    ++thread.z;
  }
  put_uniform(bank, S::warpid, w.index);
}

void fill_block_bank(const Launch& launch, Block& block) {
  using S = ptx::SpecialRegister;
  block.specials.assign(bank_bytes(Bank::block), std::byte{0});
  std::byte* bank = block.specials.data();
  put_uniform(bank, S::ctaid_x, block.index.x);
  put_uniform(bank, S::ctaid_y, block.index.y);
  put_uniform(bank, S::ctaid_z, block.index.z);
  const evidence::Dim3& c = launch.cluster;
  const std::uint32_t x = block.index.x % c.x, y = block.index.y % c.y, z = block.index.z % c.z;
  put_uniform(bank, S::smid, static_cast<std::uint32_t>(block.linear % static_cast<std::uint64_t>(std::max(1, launch.sheet->multiprocessors))));
  put_uniform(bank, S::clusterid_x, block.index.x / c.x);
  put_uniform(bank, S::clusterid_y, block.index.y / c.y);
  put_uniform(bank, S::clusterid_z, block.index.z / c.z);
  put_uniform(bank, S::cluster_ctaid_x, x);
  put_uniform(bank, S::cluster_ctaid_y, y);
  put_uniform(bank, S::cluster_ctaid_z, z);
  put_uniform(bank, S::cluster_ctarank, x + c.x * (y + c.y * z));
}

void start_warp(Launch& launch, Block& block, Warp& w, std::uint32_t index) {
  w.launch = &launch;
  w.block = &block;
  w.index = index;
  const std::uint32_t rest = launch.threads_per_block - index * 32;
  w.initial = w.live = rest >= 32 ? kFullMask : (1u << rest) - 1;
  const FunctionCode& entry = launch.kernel->functions[0];
  Frame* frame = w.frames.emplace_back(std::make_unique<Frame>()).get();
  frame->function = &entry;
  frame->registers.assign(entry.frame_bytes, std::byte{0});
  frame->params.assign(std::size_t{32} * entry.param_bytes, std::byte{0});
  frame->lanes = w.live;
  frame->local_top = entry.local_bytes;
  w.local_stride = entry.local_bytes;
  w.local.assign(std::size_t{32} * entry.local_bytes, std::byte{0});
  fill_warp_bank(launch, w);
  w.frame = frame;
  w.active = w.live;
  w.pc = entry.entry;
  if (launch.safety) {
    if (launch.kernel->barriers != nullptr) w.barriers = new_barrier_state(*launch.kernel->barriers);
    w.local_shadow.reset(w.local.size());
    start_shadow(w);
  }
  w.bases = {frame->registers.data(), const_cast<std::byte*>(launch.kernel->constants.data()), launch.uniforms.data(), block.specials.data(), w.specials.data()};
}

std::unique_ptr<Block> start_block(Launch& launch, std::uint64_t linear) {
  auto block = std::make_unique<Block>();
  block->launch = &launch;
  block->linear = linear;
  block->index = block_index(launch.grid, linear);
  block->shared.assign(launch.shared_bytes, std::byte{0});
  if (launch.safety) block->shared_shadow.reset(launch.shared_bytes);
  block->live_threads = launch.threads_per_block;
  fill_block_bank(launch, *block);
  if (launch.safety) block->races = launch.races->begin_block(static_cast<std::uint32_t>(linear), launch.shared_bytes);
  const std::uint32_t warps = (launch.threads_per_block + 31) / 32;
  if (launch.trace != nullptr && linear == launch.traced_block) {
    block->trace = launch.trace;
    block->trace->begin(warps);
  }
  block->warps = std::vector<Warp>(warps);
  block->live_warps = warps;
  for (std::uint32_t k = 0; k < warps; ++k) start_warp(launch, *block, block->warps[k], k);
  return block;
}

// Thread-instructions of the launch so far, those of other workers included.
std::uint64_t all_instructions(const Launch& launch) { return launch.team != nullptr ? launch.team->instructions.load() : launch.thread_instructions; }

// Per quantum of a warp: somebody outside tells a slow launch from a stuck one by it.
void tell_progress(Launch& launch) {
  if (launch.team != nullptr) launch.team->instructions += launch.thread_instructions - std::exchange(launch.told_team, launch.thread_instructions);
  if (launch.progress != nullptr) std::atomic_ref(*launch.progress).store(launch.instructions_before + all_instructions(launch), std::memory_order_relaxed);
}

bool over_instructions(const Launch& launch) { return launch.instruction_limit != 0 && all_instructions(launch) > launch.instruction_limit; }

// Runs every warp of the block in turn until none moves, or for a while. True: something other than spinning happened.
bool run_block(Launch& launch, Block& block, std::uint64_t quantum, std::mt19937_64* random) {
  constexpr int kRounds = 64;
  const Runner run = kRunners[static_cast<std::size_t>(launch.variant)];
  bool any = false;
  for (int round = 0; round < kRounds && block.live_warps != 0; ++round) {
    bool moved = false;
    const std::size_t first = random != nullptr ? (*random)() % block.warps.size() : 0;
    for (std::size_t k = 0; k < block.warps.size(); ++k) {
      Warp& w = block.warps[(k + first) % block.warps.size()];
      if (w.done()) continue;
      const std::uint64_t before = launch.clock;
      const Outcome outcome = run(w, random != nullptr ? quantum / 2 + (*random)() % quantum : quantum);
      tell_progress(launch);
      if (outcome == Outcome::failed) return true;
      moved |= outcome == Outcome::done || outcome == Outcome::quantum || (outcome == Outcome::blocked && launch.clock != before);
    }
    any |= moved;
    if (!moved || over_instructions(launch)) break;
  }
  return any;
}

// ---- the grid ------------------------------------------------------------------------------------------------------

// How many blocks the GPU would hold at once.
std::size_t resident_limit(const Launch& launch) {
  const hardware::DataSheet& sheet = *launch.sheet;
  const int warps = static_cast<int>((launch.threads_per_block + 31) / 32);
  int per_sm = sheet.max_blocks_per_sm > 0 ? sheet.max_blocks_per_sm : 16;
  if (sheet.max_warps_per_sm > 0) per_sm = std::min(per_sm, sheet.max_warps_per_sm / std::max(1, warps));
  if (sheet.shared_bytes_per_sm > 0 && launch.shared_bytes > 0)
    per_sm = std::min(per_sm, sheet.shared_bytes_per_sm / static_cast<int>(launch.shared_bytes));
  return static_cast<std::size_t>(std::max(1, per_sm)) * static_cast<std::size_t>(std::max(1, sheet.multiprocessors));
}

std::string describe_warp(const Warp& w) {
  for (const Group& group : w.groups) {
    const Op& op = w.launch->kernel->code[group.wait == Wait::barrier ? group.pc - 1 : group.pc];
    const std::string_view how = group.wait == Wait::barrier ? "waits at a barrier" : group.wait == Wait::warp_sync ? "waits for lanes of its warp" : "spins";
    return fmt::format("{} at {}", how, place(*w.launch, op));
  }
  return "waits";
}

void declare_hang(Launch& launch, const std::deque<std::unique_ptr<Block>>& blocks) {
  Warp* shown = nullptr;
  std::size_t waiting = 0, spinning = 0;
  for (const auto& block : blocks) {
    for (Warp& w : block->warps) {
      if (w.done() || w.groups.empty()) continue;
      const bool spins = std::any_of(w.groups.begin(), w.groups.end(), [](const Group& g) { return g.wait == Wait::none; });
      ++(spins ? spinning : waiting);
      if (shown == nullptr) shown = &w;
    }
  }
  if (shown == nullptr) return;
  for (const auto& block : blocks)
    for (std::uint32_t id = 0; id < block->barriers.size() && launch.safety && launch.kernel->barriers != nullptr; ++id)
      if (block->barriers[id].arrived != 0 && block->barriers[id].expected == 0) check_skipped_barrier(*block, id);
  const Group& group = shown->groups.front();
  const Op& op = launch.kernel->code[group.wait == Wait::barrier ? group.pc - 1 : group.pc];
  const std::string text = fmt::format("deadlock: {} warps wait at barriers and {} spin, and nothing is stored any more; the first {}", waiting, spinning, describe_warp(*shown));
  report(*shown, op, group.mask, "run.hang", waiting != 0 && spinning == 0 ? "barrier-deadlock" : "endless-loop", [&](evidence::Violation& v) {
    v.message = text;
    v.measured = fmt::format("{} warps blocked, {} spinning", waiting, spinning);
    v.required = "every warp ends";
  });
  stop(*shown, op, group.mask, LaunchStatus::hang, text);
}

class Grid {
 public:
  Grid(Launch& launch, const ScheduleOptions& options) : launch_(launch), random_(options.seed) {
    seeded_ = options.seed != 0;
    const std::uint64_t all = launch.grid.count();
    const std::uint64_t wanted = options.sampled_blocks == 0 ? all : std::min(all, options.sampled_blocks);
    step_ = static_cast<double>(all) / static_cast<double>(wanted);
    total_ = end_ = wanted;
    youngest_first_ = seeded_ && options.seed % 2 == 0;
    target_ = options.cooperative ? static_cast<std::size_t>(total_) : youngest_first_ ? std::min(kReversedBlocks, resident_limit(launch)) : kResidentBlocks;
    limit_ = std::max(target_, resident_limit(launch));
    start_ = std::chrono::steady_clock::now();
  }

  std::uint64_t total() const { return total_; }
  std::uint64_t middle_block() const { return block_at(total_ / 2); }
  std::uint64_t started_blocks() const { return next_; }
  // Only blocks before `end` become resident, unless those cannot go on without the others.
  void admit_until(std::uint64_t end) { end_ = std::min(end, total_); }
  // Every `workers`-th block from `first` + `worker` on.
  void take_share(std::uint64_t first, std::uint32_t worker, std::uint32_t workers) {
    next_ = first + worker;
    stride_ = workers;
    random_.seed(random_() + worker);
  }

  // Until all blocks that may be admitted have ended, or the launch has.
  void run() {
    std::uint64_t quantum = kQuantum;
    int idle_rounds = 0;
    for (;;) {
      admit();
      if (blocks_.empty() || launch_.failed() || team_stopped()) break;
      const std::uint64_t stores = launch_.stores;
      const bool moved = round(quantum);
      if (launch_.failed()) break;
      if (moved || launch_.stores != stores) {
        quantum = kQuantum;
        idle_rounds = 0;
        continue;
      }
      if (++idle_rounds < 2) continue;   // a barrier that completed late in the first has released nobody yet
      idle_rounds = 0;
      if (blocks_.size() < limit_ && next_ < total_) {
        end_ = total_;
        target_ = std::min<std::size_t>(limit_, std::max<std::size_t>(2 * blocks_.size(), kResidentBlocks));
        quantum = kSuspicious;
        continue;
      }
      declare_hang(launch_, blocks_);
      break;
    }
    for (const auto& block : blocks_)
      if (block->races != nullptr) launch_.races->end_block(block->races);
    if (launch_.failed() || team_stopped()) blocks_.clear();
  }

 private:
  std::uint64_t block_at(std::uint64_t k) const { return static_cast<std::uint64_t>(static_cast<double>(k) * step_); }
  void admit() {
    for (; blocks_.size() < target_ && next_ < end_; next_ += stride_)
      blocks_.push_back(start_block(launch_, block_at(next_)));
  }

  // A worker's findings end the team: the blocks run again one after the other.
  bool team_stopped() {
    if (launch_.team == nullptr) return false;
    if (!launch_.violations->empty() || !launch_.origins->empty()) launch_.team->stop = true;
    return launch_.team->stop;
  }

  bool round(std::uint64_t quantum) {
    bool moved = false;
    const std::size_t count = blocks_.size();
    const std::size_t first = seeded_ ? random_() % count : 0;
    for (std::size_t k = 0; k < count && !launch_.failed() && !team_stopped(); ++k) {
      Block& block = *blocks_[youngest_first_ ? count - 1 - k : (k + first) % count];
      moved |= run_block(launch_, block, quantum, seeded_ ? &random_ : nullptr);
      check_limits();
    }
    std::erase_if(blocks_, [&](const std::unique_ptr<Block>& block) {
      if (block->live_warps != 0) return false;
      if (block->races != nullptr) launch_.races->end_block(block->races);
      moved = true;
      return true;
    });
    return moved;
  }

  void check_limits() {
    if (launch_.failed() || !over_instructions(launch_)) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (seconds <= launch_.seconds_limit) return;
    launch_.status = LaunchStatus::limit;
    launch_.detail = fmt::format("budget exceeded in {}: {} thread-instructions in {:.1f} s; nothing wrong was seen", launch_.kernel->info.name, launch_.thread_instructions, seconds);
  }

  Launch& launch_;
  std::deque<std::unique_ptr<Block>> blocks_;
  std::mt19937_64 random_;
  bool seeded_ = false, youngest_first_ = false;
  std::uint64_t next_ = 0, end_ = 0, total_ = 0, stride_ = 1;
  double step_ = 1;
  std::size_t target_ = kResidentBlocks, limit_ = kResidentBlocks;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

namespace {

constexpr std::uint64_t kTrialBlocks = 2;                 // tell how long the others will take
constexpr double kLeastSeconds = 0.005;                   // of one core: for less a team is not called together
constexpr double kMostSaved = 1e9;                        // bytes
constexpr double kBytesPerSecond = 2e9;                   // of saving memory, and putting it back

// The rest of the grid on several cores, when it is worth it. True: done, or the limit was reached.
bool run_with_team(Launch& launch, const ScheduleOptions& options, Grid& grid) {
  const auto start = std::chrono::steady_clock::now();
  grid.admit_until(kTrialBlocks);
  grid.run();
  const std::uint64_t first = grid.started_blocks();
  if (launch.failed() || first >= grid.total()) return true;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double rest = seconds / static_cast<double>(first) * static_cast<double>(grid.total() - first);
  const auto saved = static_cast<double>(bytes_to_save(launch));
  if (rest < kLeastSeconds || rest < 2 * saved / kBytesPerSecond || saved > kMostSaved) return false;
  const TeamOutcome outcome = run_team(launch, options.workers, [&](Launch& own, std::uint32_t worker, std::uint32_t workers) {
    Grid share(own, options);
    share.take_share(first, worker, workers);
    share.run();
  });
  return outcome != TeamOutcome::unclean;
}

}  // namespace

void run_grid(Launch& launch, const ScheduleOptions& options) {
  Grid grid(launch, options);
  launch.traced_block = grid.middle_block();
  const bool teams = options.workers > 1 && !options.cooperative && grid.total() > 4 * kTrialBlocks && (!launch.safety || launch.races->uses_epochs()) && has_independent_blocks(launch);
  if (!teams || !run_with_team(launch, options, grid)) {
    grid.admit_until(grid.total());
    grid.run();
  }
  add_segment_runs(launch);
}

}  // namespace kforge::emulator
