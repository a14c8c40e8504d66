// What orders blocks and parts of blocks: fences, flags, locks, named barriers, barrier objects. Played by hand: right patterns raise nothing, wrong ones are named.
#include "emulator/race.h"

#include <gtest/gtest.h>

#include "emulator/race_steps.h"

namespace kforge::emulator {
namespace {

using namespace race_steps;
using I = RaceTrace::Instruction;
using ptx::Order;
using ptx::Scope;

// ---- across blocks: fences and flags -------------------------------------------------------------------------------

// Each block writes a partial result, the last one to arrive at a counter adds them up.
struct LastBlock {
  bool fence_before = true, fence_after = true, barrier = true;
};
std::vector<Race> last_block(const LastBlock& how) {
  constexpr std::uint32_t kBlocks = 4;
  RaceTrace trace(kClocks, kBlocks, 64);
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    trace.all(store(block, false), 1024 + 256 * block, 4, 100 * block);
    if (how.barrier) trace.barrier(block);
    if (how.fence_before) trace.fence(block, 0);
    trace.one(atomic(block), 0, 0);
    if (how.fence_after) trace.fence(block, 0);
    trace.barrier(block);
  }
  for (std::uint32_t from = 0; from < kBlocks; ++from) trace.all(load(kBlocks - 1, false), 1024 + 256 * from, 4);
  return trace.races();
}

TEST(Fences, TheLastBlockSeesAllPartialResults) { EXPECT_TRUE(last_block({}).empty()); }

TEST(Fences, WithoutAFenceTheCounterPublishesNothing) {
  const auto races = last_block({.fence_before = false});
  ASSERT_EQ(races.size(), 1u);
  EXPECT_EQ(races[0].kind, RaceKind::write_read);
  EXPECT_FALSE(races[0].advice);
}

TEST(Fences, WithoutABarrierOnlyTheSignallersOwnStoresArePublished) {
  const auto races = last_block({.barrier = false});
  ASSERT_EQ(races.size(), 1u);
  EXPECT_FALSE(races[0].advice);
}

TEST(Fences, AMissingFenceAfterTheCounterIsAdvice) {
  const auto races = last_block({.fence_after = false});
  ASSERT_EQ(races.size(), 1u);
  EXPECT_EQ(races[0].kind, RaceKind::missing_acquire);
  EXPECT_TRUE(races[0].advice);
}

TEST(Fences, AFenceByEachThreadBeforeTheBarrierServesTheSignaller) {
  RaceTrace trace(kClocks, 2, 64);
  trace.all(store(0, false), 1024, 4);
  for (std::uint32_t thread = 0; thread < 64; ++thread) trace.fence(0, thread);
  trace.barrier(0);
  trace.one(atomic(0), 0, 0);
  trace.one(atomic(1), 0, 0);
  trace.barrier(1);
  for (std::uint32_t thread = 0; thread < 64; ++thread) trace.fence(1, thread);
  trace.all(load(1, false), 1024, 4);
  EXPECT_TRUE(trace.races().empty());
}

// Decoupled look-back: each block publishes its sum behind a flag that the next one spins on.
std::size_t look_back(bool fence_writer, bool fence_reader, Scope scope) {
  RaceTrace trace(kClocks, 6, 32);
  for (std::uint32_t block = 0; block < 6; ++block) {
    if (block > 0) {
      trace.one(strong_load(block), 0, 4 * (block - 1));
      if (fence_reader) trace.fence(block, 0, scope);
      trace.one(load(block, false), 0, 1024 + 4 * (block - 1));
    }
    trace.one(store(block, false), 0, 1024 + 4 * block);
    if (fence_writer) trace.fence(block, 0, scope);
    trace.one(strong_store(block), 0, 4 * block);
  }
  return trace.faults();
}

TEST(Fences, LookBackWithFencesIsClean) { EXPECT_EQ(look_back(true, true, Scope::gpu), 0u); }
TEST(Fences, LookBackWithoutTheWritersFenceRaces) { EXPECT_EQ(look_back(false, true, Scope::gpu), 1u); }
TEST(Fences, LookBackWithoutTheReadersFenceRaces) { EXPECT_EQ(look_back(true, false, Scope::gpu), 1u); }
TEST(Fences, LookBackWithBlockFencesRaces) { EXPECT_EQ(look_back(true, true, Scope::cta), 1u); }

// Selection in place: a block reads its part, meets, sets a relaxed flag; the next block sees it, meets, and writes there.
struct InPlace {
  bool first_barrier = true, flag = true, second_barrier = true, written_before = false;
};
std::size_t in_place(const InPlace& how, std::uint32_t blocks = 2) {
  RaceTrace trace(RaceMode{.relaxed_flags = true}, blocks, 64);
  const Order order = Order::relaxed;
  if (how.written_before) trace.all(store(0, false), 1024, 4);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    if (!how.written_before) trace.all(load(block, false), 1024 + 256 * block, 4);
    if (how.first_barrier) trace.barrier(block);
    if (block > 0) trace.one(strong_load(block, order, Scope::gpu), 0, 4 * (block - 1));
    if (how.flag) trace.one(strong_store(block, order, Scope::gpu), 0, 4 * block);
    if (how.second_barrier) trace.barrier(block);
  }
  trace.all(store(blocks - 1, false), 1024, 4, 7);
  return trace.faults();
}

TEST(RelaxedFlags, AReadThatIsOverComesBeforeTheWriteThatWaitedForIt) {
  EXPECT_EQ(in_place({}), 0u);
  EXPECT_EQ(in_place({}, 5), 0u);   // heard of through three others
}
TEST(RelaxedFlags, AReadWithoutABarrierMayNotBeOver) { EXPECT_EQ(in_place({.first_barrier = false}), 1u); }
TEST(RelaxedFlags, WithoutAFlagNothingIsHeard) { EXPECT_EQ(in_place({.flag = false}), 1u); }
TEST(RelaxedFlags, OnlyTheWarpThatSawTheFlagKnowsBeforeTheBarrier) { EXPECT_EQ(in_place({.second_barrier = false}), 1u); }
TEST(RelaxedFlags, AWriteNeedsItsFences) { EXPECT_GT(in_place({.written_before = true}), 0u); }

// A flag by release and acquire operations; thread `from` of block 0 to thread 0 of block `to`.
std::size_t flag(Order write, Order read, Scope scope, std::uint32_t to) {
  RaceTrace trace(kClocks, 2, 64);
  trace.one(store(0, false), 33, 1024);
  trace.one(strong_store(0, write, scope), 33, 0);
  trace.one(strong_load(to, read, scope), 0, 0);
  trace.one(load(to, false), 0, 1024);
  return trace.faults();
}

TEST(Flags, ReleaseAndAcquireOrder) { EXPECT_EQ(flag(Order::release, Order::acquire, Scope::gpu, 1), 0u); }
TEST(Flags, BlockScopeSuffices) { EXPECT_EQ(flag(Order::release, Order::acquire, Scope::cta, 0), 0u); }
// The flag's own accesses race then, as well as what it should have published.
TEST(Flags, BlockScopeDoesNotReachOtherBlocks) { EXPECT_EQ(flag(Order::release, Order::acquire, Scope::cta, 1), 2u); }

TEST(Atomics, OfBlockScopeRaceWithThoseOfOtherBlocks) {
  for (const Scope second : {Scope::cta, Scope::gpu}) {
    RaceTrace trace(kClocks, 2, 32);
    trace.one(atomic(0, false, Order::relaxed, Scope::cta), 0, 0);
    trace.one(atomic(0, false, Order::relaxed, Scope::cta), 1, 0);
    EXPECT_EQ(trace.faults(), 0u);
    trace.one(atomic(1, false, Order::relaxed, second), 0, 0);
    EXPECT_EQ(trace.faults(), 1u);
  }
}
TEST(Flags, RelaxedStoresDoNotRelease) { EXPECT_EQ(flag(Order::relaxed, Order::acquire, Scope::gpu, 1), 1u); }
TEST(Flags, RelaxedLoadsDoNotAcquire) { EXPECT_EQ(flag(Order::release, Order::relaxed, Scope::gpu, 1), 1u); }

TEST(Flags, ReadModifyWritesContinueAReleaseSequenceAndStoresEndIt) {
  for (const bool store_between : {false, true}) {
    RaceTrace trace(kClocks, 3, 32);
    trace.one(store(0, false), 0, 1024);
    trace.one(atomic(0, false, Order::release), 0, 0);
    trace.one(store_between ? strong_store(1, Order::relaxed, Scope::gpu) : atomic(1), 0, 0);
    trace.one(strong_load(2, Order::acquire, Scope::gpu), 0, 0);
    trace.one(load(2, false), 0, 1024);
    EXPECT_EQ(trace.faults(), store_between ? 1u : 0u);
  }
}

TEST(Flags, StoresAfterTheReleaseAreNotPublished) {
  RaceTrace trace(kClocks, 2, 32);
  trace.one(strong_store(0, Order::release, Scope::gpu), 0, 0);
  trace.one(store(0, false), 0, 1024);
  trace.one(strong_load(1, Order::acquire, Scope::gpu), 0, 0);
  trace.one(load(1, false), 0, 1024);
  EXPECT_EQ(trace.faults(), 1u);
}

// atomicCAS / atomicExch lock around a counter; threads of several warps and blocks in turn.
std::size_t lock(bool fence_in, bool fence_out, bool failed_attempts) {
  RaceTrace trace(kClocks, 2, 64);
  for (std::uint32_t turn = 0; turn < 8; ++turn) {
    const std::uint32_t block = turn % 2, thread = turn * 13 % 64;
    trace.one(atomic(block), thread, 0);
    if (fence_in) trace.fence(block, thread);
    trace.one(load(block, false), thread, 1024);
    trace.one(store(block, false), thread, 1024, turn);
    if (failed_attempts) {
      I attempt = atomic(1 - block);
      attempt.wrote = 0;
      trace.one(attempt, 63, 0);
    }
    if (fence_out) trace.fence(block, thread);
    trace.one(atomic(block), thread, 0);
  }
  return trace.faults();
}

TEST(Locks, WithFencesAreClean) { EXPECT_EQ(lock(true, true, true), 0u); }
TEST(Locks, WithoutTheFenceBeforeTheUnlockRace) { EXPECT_GT(lock(true, false, false), 0u); }
TEST(Locks, WithoutTheFenceAfterTheLockRace) { EXPECT_GT(lock(false, true, false), 0u); }

TEST(GridSync, OfCooperativeGroupsIsClean) {
  constexpr std::uint32_t kBlocks = 3;
  RaceTrace trace(kClocks, kBlocks, 64);
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::uint32_t block = 0; block < kBlocks; ++block) trace.all(store(block, false), 1024 + 256 * block, 4, 10 * round);
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      trace.barrier(block);
      trace.fence(block, 0);
      trace.one(atomic(block), 0, 0);
    }
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      trace.one(strong_load(block), 0, 0);
      trace.fence(block, 0);
      trace.barrier(block);
    }
    for (std::uint32_t block = 0; block < kBlocks; ++block) trace.all(load(block, false), 1024 + 256 * ((block + 1) % kBlocks), 4);
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      trace.barrier(block);
      trace.fence(block, 0);
      trace.one(atomic(block), 0, 4);
    }
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      trace.one(strong_load(block), 0, 4);
      trace.fence(block, 0);
      trace.barrier(block);
    }
  }
  EXPECT_TRUE(trace.races().empty());
}

// ---- named barriers, tiles, barrier objects ------------------------------------------------------------------------

TEST(NamedBarriers, OrderThoseWhoTakePartAndNobodyElse) {
  RaceTrace trace(kClocks, 1, 96);
  trace.warp(store(), 0, 4);
  const std::uint32_t first_two[] = {~0u, ~0u, 0};
  trace.detector.named_barrier(trace.block(0), first_two, first_two);
  I read = load();
  read.warp = 1;
  trace.warp(read, 0, 4);
  EXPECT_TRUE(trace.races().empty());
  read.warp = 2;
  trace.warp(read, 0, 4);
  EXPECT_EQ(trace.faults(), 1u);
}

// Warp 0 fills a buffer, warps 1 and 2 empty it; "full" is barrier 1, "empty" barrier 2; arrivals do not wait.
std::size_t producer_consumer(bool wait_empty) {
  RaceTrace trace(kClocks, 1, 128);
  const std::uint32_t producer[] = {~0u, 0, 0, 0}, consumers[] = {0, ~0u, ~0u, 0};
  for (std::uint32_t round = 0; round < 4; ++round) {
    if (round > 0 && wait_empty) trace.detector.named_barrier_complete(trace.block(0), 2, producer);
    trace.warp(store(), 0, 4, 100 * round);
    trace.detector.barrier_arrive(trace.block(0), 1, 0, ~0u);
    trace.detector.named_barrier_complete(trace.block(0), 1, consumers);
    for (const std::uint32_t warp : {1u, 2u}) {
      I read = load();
      read.warp = warp;
      trace.warp(read, 0, 4);
      trace.detector.barrier_arrive(trace.block(0), 2, warp, ~0u);
    }
  }
  return trace.faults();
}
TEST(NamedBarriers, ProducersAndConsumersAreClean) { EXPECT_EQ(producer_consumer(true), 0u); }
TEST(NamedBarriers, AProducerThatDoesNotWaitRaces) { EXPECT_GT(producer_consumer(false), 0u); }

TEST(Tiles, PartialMasksOrderTheirOwnLanesOnly) {
  RaceTrace trace(kClocks, 1, 32);
  trace.warp(store(), 0, 4);
  trace.warp_sync(0, 0, 0x0000ffff);
  trace.warp_sync(0, 0, 0xffff0000);
  trace.one(load(), 3, 4 * 12);
  trace.one(load(), 20, 4 * 31);
  EXPECT_TRUE(trace.races().empty());
  trace.one(load(), 3, 4 * 16);
  EXPECT_EQ(trace.faults(), 1u);
}

TEST(BarrierObjects, ArriveReleasesAndWaitAcquires) {
  RaceTrace trace(kClocks, 1, 64);
  trace.warp(store(), 0, 4);
  trace.detector.release(trace.block(0), 0, ~0u, 77, Scope::cta);
  trace.detector.acquire(trace.block(0), 1, 0xffff, 77, Scope::cta);
  trace.one(load(), 40, 4);
  EXPECT_TRUE(trace.races().empty());
  trace.one(load(), 60, 8);   // this lane did not wait
  EXPECT_EQ(trace.faults(), 1u);
}

TEST(BarrierObjects, AShuffleHandsOnWhatALaneAcquiredAndNothingElse) {
  RaceTrace trace(kClocks, 1, 64);
  trace.warp(store(), 0, 4);
  trace.detector.release(trace.block(0), 0, ~0u, 77, Scope::cta);
  trace.detector.acquire(trace.block(0), 1, 1, 77, Scope::cta);
  trace.one(store(), 33, 4 * 64);
  trace.detector.shuffle(trace.block(0), 1, ~0u);
  trace.one(load(), 60, 8);
  EXPECT_TRUE(trace.races().empty());
  trace.one(load(), 61, 4 * 64);   // what another lane of its own warp wrote
  EXPECT_EQ(trace.faults(), 1u);
}

TEST(AtomicRefs, OrderWithinABlockThroughSharedMemory) {
  RaceTrace trace(kClocks, 1, 64);
  trace.one(store(), 0, 64);
  trace.one(strong_store(0, Order::release, Scope::cta, true), 0, 0);
  trace.one(strong_load(0, Order::acquire, Scope::cta, true), 40, 0);
  trace.one(load(), 40, 64);
  EXPECT_TRUE(trace.races().empty());
}

}  // namespace
}  // namespace kforge::emulator
