// Random launches beside an oracle that keeps a full vector clock for every thread and every access ever made to each byte.
// The engines may name fewer pairs of a racing byte than the oracle, and other pairs; what must agree is which bytes race at
// all up to the first race of each byte: no false alarm, and no byte missed.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "emulator/race_trace.h"

namespace kforge::emulator {
namespace {

using ptx::Order;
using ptx::Scope;

using Clock = std::vector<std::uint32_t>;  // by thread of the launch

void join(Clock& into, const Clock& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

class Oracle {
 public:
  Oracle(std::uint32_t blocks, std::uint32_t threads)
      : threads_(threads), clocks_(blocks * threads, Clock(blocks * threads)), fenced_(clocks_), pending_(clocks_) {
    for (std::size_t i = 0; i < clocks_.size(); ++i) clocks_[i][i] = 1;
  }
  std::uint32_t id(std::uint32_t block, std::uint32_t thread) const { return block * threads_ + thread; }

  // Does this access race with an earlier one? `value` differs from all others, so that no two stores are equal.
  // Strong writes that came before an atomic which the thread knows of came before the thread's plain access too.
  bool access(std::uint32_t thread, std::uint64_t first, std::uint32_t bytes, bool write, bool strong, bool update) {
    bool race = false;
    for (std::uint64_t byte = first; byte < first + bytes; ++byte) {
      const std::vector<Past>& pasts = pasts_[byte];
      bool after_update = false;
      for (auto past = pasts.rbegin(); past != pasts.rend(); ++past) {
        const bool known = past->thread == thread || clocks_[thread][past->thread] >= past->time;
        after_update |= known && past->update;
        if (known || (after_update && past->write && past->strong)) continue;
        race |= (past->write || write) && !(past->strong && strong);
      }
      pasts_[byte].push_back({thread, clocks_[thread][thread], write, strong, update});
    }
    return race;
  }
  void meet(const std::vector<std::uint32_t>& group) {
    Clock all(clocks_.size()), fenced(all), pending(all);
    for (const std::uint32_t thread : group) {
      join(all, clocks_[thread]);
      join(fenced, fenced_[thread]);
      join(pending, pending_[thread]);
    }
    for (const std::uint32_t thread : group) {
      clocks_[thread] = all;
      fenced_[thread] = fenced;
      pending_[thread] = pending;
      ++clocks_[thread][thread];
    }
  }
  void fence(std::uint32_t thread) {
    join(clocks_[thread], pending_[thread]);
    fenced_[thread] = clocks_[thread];
    ++clocks_[thread][thread];
  }
  void read_flag(std::uint32_t thread, std::uint64_t flag, bool acquire) {
    const auto found = flags_.find(flag);
    if (found != flags_.end()) join(acquire ? clocks_[thread] : pending_[thread], found->second);
  }
  void write_flag(std::uint32_t thread, std::uint64_t flag, bool release, bool replace) {
    Clock& published = flags_.try_emplace(flag, Clock(clocks_.size())).first->second;
    if (replace) published.assign(clocks_.size(), 0);
    join(published, release ? clocks_[thread] : fenced_[thread]);
    if (release) ++clocks_[thread][thread];
  }

 private:
  struct Past {
    std::uint32_t thread, time;
    bool write, strong, update;
  };
  std::uint32_t threads_;
  std::vector<Clock> clocks_, fenced_, pending_;
  std::map<std::uint64_t, std::vector<Past>> pasts_;
  std::map<std::uint64_t, Clock> flags_;
};

struct Setting {
  RaceMode mode;
  std::uint32_t blocks, threads;
  std::uint32_t addresses;      // few: much racing; many: little
  bool fences, partial_masks, named;
};

// One launch. Shared and global bytes get disjoint oracle addresses. A byte that raced is left alone afterwards.
void play(const Setting& setting, std::uint32_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto pick = [&](std::uint32_t count) { return static_cast<std::uint32_t>(random() % count); };
  RaceTrace trace(setting.mode, setting.blocks, setting.threads);
  Oracle oracle(setting.blocks, setting.threads);
  std::set<std::uint64_t> raced;
  const std::uint32_t warps = setting.threads / 32;
  std::uint32_t value = 1;
  const auto lanes_of = [&](std::uint32_t block, std::uint32_t warp, std::uint32_t mask) {
    std::vector<std::uint32_t> group;
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      if (mask >> lane & 1) group.push_back(oracle.id(block, warp * 32 + lane));
    return group;
  };
  for (int step = 0; step < 300; ++step) {
    const std::uint32_t block = pick(setting.blocks), warp = pick(warps), thread = warp * 32 + pick(32);
    const std::uint32_t me = oracle.id(block, thread);
    const std::uint32_t what = pick(20);
    if (what < 12) {   // a plain or strong access by one thread, or by a warp in a row
      RaceTrace::Instruction instruction;
      instruction.block = block;
      instruction.warp = warp;
      instruction.shared = pick(2) == 0;
      const AccessKind kinds[] = {AccessKind::store, AccessKind::load, AccessKind::load, AccessKind::atomic};
      instruction.kind = kinds[pick(4)];
      const bool atomic = instruction.kind == AccessKind::atomic;
      instruction.strong = atomic || pick(4) == 0;
      instruction.scope = Scope::gpu;
      const bool whole = pick(3) == 0;
      const std::uint32_t sizes[] = {4, 4, 4, 8, 16, 2, 1};
      instruction.bytes = atomic ? 4 : sizes[pick(7)];
      const std::uint32_t masks[] = {~0u, ~0u, 0x0000ffff, 0x7fffffff, 0x55555555, 0x00000ff0};
      instruction.mask = whole ? masks[pick(6)] : 1u << thread % 32;
      LaneAddresses offsets;
      const std::uint32_t bytes = instruction.bytes;
      const std::uint64_t base = 1024 + (whole ? 32ull * bytes * pick(setting.addresses / 8 + 1) + bytes * pick(2) * pick(2)
                                               : 16ull * pick(setting.addresses) + bytes * pick(16 / bytes));
      std::array<std::uint32_t, 32> values;
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        offsets[lane] = base + (whole ? bytes * lane : 0);
        values[lane] = (value++ & 0x7f) * 0x01010101u + 0x01010101u;
      }
      const std::uint64_t space = instruction.shared ? (block + 1ull) << 32 : 0;
      bool skip = false;
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        for (std::uint64_t i = 0; (instruction.mask >> lane & 1) && i < instruction.bytes; ++i)
          skip |= raced.count(space + offsets[lane] + i) != 0;
      if (skip) continue;
      // Strong accesses to data are flags as well.
      const auto for_flags = [&](auto f) {
        for (std::uint32_t lane = 0; lane < 32; ++lane)
          if ((instruction.mask >> lane & 1) && instruction.strong) f(oracle.id(block, warp * 32 + lane), space + offsets[lane]);
      };
      if (instruction.kind != AccessKind::store)
        for_flags([&](std::uint32_t reader, std::uint64_t flag) { oracle.read_flag(reader, flag, false); });
      std::set<std::uint64_t> expected;
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        if ((instruction.mask >> lane & 1) &&
            oracle.access(oracle.id(block, warp * 32 + lane), space + offsets[lane], instruction.bytes,
                          instruction.kind != AccessKind::load, instruction.strong, atomic))
          expected.insert(offsets[lane]);
      if (instruction.kind != AccessKind::load)
        for_flags([&](std::uint32_t writer, std::uint64_t flag) { oracle.write_flag(writer, flag, false, !atomic); });
      trace.run(instruction, offsets, values);
      const bool found = !trace.races().empty();
      ASSERT_EQ(found, !expected.empty()) << "step " << step << (instruction.shared ? " shared " : " global ") << base << " bytes "
                                          << instruction.bytes << " kind " << int(instruction.kind) << " strong " << instruction.strong;
      if (found)
        for (std::uint32_t lane = 0; lane < 32; ++lane)
          for (std::uint64_t i = 0; i < 16; ++i) raced.insert(space + offsets[lane] + i);
    } else if (what == 12) {
      std::vector<std::uint32_t> group;
      for (std::uint32_t t = 0; t < setting.threads; ++t) group.push_back(oracle.id(block, t));
      trace.barrier(block);
      oracle.meet(group);
    } else if (what <= 14) {
      const std::uint32_t masks[] = {~0u, 0x0000ffff, 0xff00ff00, 0xf0f0f0f0};
      const std::uint32_t mask = setting.partial_masks ? masks[pick(4)] : ~0u;
      trace.warp_sync(block, warp, mask);
      oracle.meet(lanes_of(block, warp, mask));
    } else if (what == 15 && setting.named) {
      std::vector<std::uint32_t> arrived(warps), group;
      for (std::uint32_t w = 0; w < warps; ++w)
        if (pick(2) != 0) {
          arrived[w] = ~0u;
          for (const std::uint32_t member : lanes_of(block, w, ~0u)) group.push_back(member);
        }
      trace.detector.named_barrier(trace.block(block), arrived, arrived);
      oracle.meet(group);
    } else if (what == 16 && setting.fences) {
      trace.fence(block, thread);
      oracle.fence(me);
    } else if (setting.fences) {   // a flag, far from the data
      RaceTrace::Instruction instruction;
      instruction.block = block;
      instruction.shared = false;
      instruction.strong = true;
      instruction.scope = Scope::gpu;
      const std::uint32_t kind = pick(3);
      const bool ordered = pick(2) == 0;
      instruction.kind = kind == 0 ? AccessKind::load : kind == 1 ? AccessKind::store : AccessKind::atomic;
      instruction.order = !ordered ? Order::relaxed : kind == 0 ? Order::acquire : kind == 1 ? Order::release : Order::acq_rel;
      const std::uint64_t flag = 4 * pick(3);
      if (kind != 1) oracle.read_flag(me, flag, ordered);
      if (kind != 0) oracle.write_flag(me, flag, ordered, kind == 1);
      trace.one(instruction, thread, flag);
      ASSERT_TRUE(trace.races().empty());
    }
  }
}

TEST(RaceRandom, EpochsEqualTheOracle) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    play({{}, 1 + seed % 3, 32 + 32 * (seed % 2), seed % 4 == 0 ? 4u : 40u, false, false, false}, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(RaceRandom, ClocksEqualTheOracle) {
  for (std::uint32_t seed = 1001; seed <= 1250; ++seed) {
    const RaceMode mode{.named_barriers = true, .fences = true, .partial_warp_syncs = true, .sync_objects = false};
    play({mode, 1 + seed % 3, 32 + 32 * (seed % 2), seed % 4 == 0 ? 4u : 40u, true, true, true}, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(RaceRandom, ClocksEqualTheOracleWhereEpochsWouldServe) {
  for (std::uint32_t seed = 2001; seed <= 2100; ++seed) {
    play({{.fences = true}, 1 + seed % 3, 64, seed % 4 == 0 ? 4u : 40u, false, false, false}, seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace kforge::emulator
