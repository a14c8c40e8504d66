// The patterns of CUDA programs, right and wrong, played by hand: the right ones raise nothing, the wrong ones are named.
#include "emulator/race.h"

#include <gtest/gtest.h>

#include "emulator/race_trace.h"

namespace kforge::emulator {
namespace {

using I = RaceTrace::Instruction;
using ptx::Order;
using ptx::Scope;

constexpr RaceMode kEpochs{};
constexpr RaceMode kClocks{.named_barriers = true, .fences = true, .partial_warp_syncs = true, .sync_objects = true};

I load(std::uint32_t block = 0, bool shared = true) { return {.block = block, .shared = shared, .location = 10}; }
I store(std::uint32_t block = 0, bool shared = true) {
  return {.block = block, .shared = shared, .kind = AccessKind::store, .location = 20};
}
I atomic(std::uint32_t block, bool shared = false, Order order = Order::relaxed, Scope scope = Scope::gpu) {
  return {.block = block, .shared = shared, .kind = AccessKind::atomic, .strong = true, .order = order, .scope = scope, .location = 30};
}
I strong_load(std::uint32_t block, Order order = Order::volatile_, Scope scope = Scope::sys, bool shared = false) {
  return {.block = block, .shared = shared, .strong = true, .order = order, .scope = scope, .location = 40};
}
I strong_store(std::uint32_t block, Order order = Order::volatile_, Scope scope = Scope::sys, bool shared = false) {
  return {.block = block, .shared = shared, .kind = AccessKind::store, .strong = true, .order = order, .scope = scope, .location = 50};
}

// What orders by block barriers and warp synchronisation: the same in both engines.
class BothEngines : public testing::TestWithParam<bool> {
 protected:
  RaceMode mode() const { return GetParam() ? kClocks : kEpochs; }
};
INSTANTIATE_TEST_SUITE_P(Race, BothEngines, testing::Bool(),
                         [](const auto& engine) { return engine.param ? std::string("clocks") : std::string("epochs"); });

TEST_P(BothEngines, ATileBetweenTwoBarriersIsClean) {
  RaceTrace trace(mode(), 1, 256);
  for (std::uint32_t round = 0; round < 4; ++round) {
    trace.all(store(), 0, 4, round * 1000);
    trace.barrier(0);
    for (std::uint32_t k = 0; k < 16; ++k) trace.all(load(), 64 * k, 0);
    trace.all(load(), 0, 4);
    trace.barrier(0);
  }
  EXPECT_TRUE(trace.races().empty());
}

TEST_P(BothEngines, AMissingBarrierAfterTheStoresIsARace) {
  RaceTrace trace(mode(), 1, 64);
  trace.all(store(), 0, 4);
  trace.one(load(), 40, 4 * 3);
  const auto races = trace.races();
  ASSERT_EQ(races.size(), 1u);
  EXPECT_EQ(races[0].kind, RaceKind::write_read);
  EXPECT_TRUE(races[0].shared);
  EXPECT_EQ(races[0].first.thread, 3u);
  EXPECT_EQ(races[0].first.location, 20u);
  EXPECT_TRUE(races[0].first.write);
  EXPECT_EQ(races[0].second.thread, 40u);
  EXPECT_EQ(races[0].second.location, 10u);
  EXPECT_EQ(races[0].address, 12u);
}

TEST_P(BothEngines, AMissingBarrierBeforeTheNextStoresIsARace) {
  RaceTrace trace(mode(), 1, 64);
  trace.all(store(), 0, 4);
  trace.barrier(0);
  for (std::uint32_t k = 0; k < 8; ++k) trace.all(load(), 4 * k, 0);
  trace.all(store(), 0, 4, 500);
  const auto races = trace.races();
  ASSERT_EQ(races.size(), 1u);
  EXPECT_EQ(races[0].kind, RaceKind::read_write);
}

TEST_P(BothEngines, OneReaderElsewhereIsEnough) {
  RaceTrace trace(mode(), 1, 64);
  trace.one(load(), 5, 0);
  trace.one(store(), 37, 0);
  EXPECT_EQ(trace.faults(), 1u);
}

TEST_P(BothEngines, AThreadMayReadAndWriteItsOwn) {
  RaceTrace trace(mode(), 1, 64);
  for (int round = 0; round < 3; ++round) {
    trace.all(load(), 0, 4);
    trace.all(store(), 0, 4, static_cast<std::uint32_t>(round));
    trace.all(load(0, false), 256, 4);
    trace.all(store(0, false), 256, 4, static_cast<std::uint32_t>(round));
  }
  EXPECT_TRUE(trace.races().empty());
}

// s[lane] += s[lane + d]; __syncwarp(), as in a warp-synchronous reduction.
std::size_t warp_reduction(RaceMode mode, bool first_sync, bool second_sync) {
  RaceTrace trace(mode, 1, 32);
  trace.warp(store(), 0, 4);
  trace.warp_sync(0, 0);
  for (std::uint32_t d = 16; d > 0; d /= 2) {
    I read = load();
    read.mask = (1u << d) - 1;
    trace.warp(read, 4 * d, 4);
    if (first_sync) trace.warp_sync(0, 0);
    I write = store();
    write.mask = (1u << d) - 1;
    trace.warp(write, 0, 4, d * 100);
    if (second_sync) trace.warp_sync(0, 0);
  }
  return trace.faults();
}

// Blocks take tickets; the thread that took the last one (or a thread of its block, past a barrier) sets the counter back.
std::size_t reset_counter(RaceMode mode, std::uint32_t by_block, std::uint32_t by_thread, bool a_ticket_after) {
  RaceTrace trace(mode, 12, 64);
  I ticket{.shared = false, .kind = AccessKind::atomic, .order = ptx::Order::relaxed, .scope = ptx::Scope::gpu};
  for (ticket.block = 0; ticket.block < 12; ++ticket.block) trace.one(ticket, 0, 64);
  if (by_thread != 0) trace.barrier(by_block);
  ticket.block = 0;
  if (a_ticket_after) trace.one(ticket, 32, 64);
  trace.one({.block = by_block, .shared = false, .kind = AccessKind::store}, by_thread, 64, 7);
  return trace.faults();
}

TEST_P(BothEngines, TheLastTicketHolderMaySetTheCounterBack) {
  EXPECT_EQ(reset_counter(mode(), 11, 0, false), 0u);
  EXPECT_EQ(reset_counter(mode(), 11, 40, false), 0u);
  EXPECT_GT(reset_counter(mode(), 10, 0, false), 0u);   // not the last
  EXPECT_GT(reset_counter(mode(), 11, 0, true), 0u);    // another ticket since
  EXPECT_GT(reset_counter(mode(), 11, 40, true), 0u);
}

TEST_P(BothEngines, AWarpReductionWithSyncwarpIsClean) { EXPECT_EQ(warp_reduction(mode(), true, true), 0u); }
TEST_P(BothEngines, AWarpReductionWithoutSyncwarpRaces) { EXPECT_GT(warp_reduction(mode(), true, false), 0u); }

TEST_P(BothEngines, LanesThatReadTheSameThenSyncThenOneWrites) {
  RaceTrace trace(mode(), 1, 64);
  trace.warp(load(), 0, 0);
  trace.warp_sync(0, 0);
  trace.one(store(), 3, 0);
  EXPECT_TRUE(trace.races().empty());
  trace.one(store(), 40, 0, 9);   // the other warp was never synchronised with
  EXPECT_GE(trace.faults(), 1u);
}

TEST_P(BothEngines, OneInstructionThatStoresDifferentValuesToOneAddressRaces) {
  RaceTrace trace(mode(), 1, 32);
  trace.warp(store(), 16, 0, 7);
  const auto races = trace.races();
  ASSERT_EQ(races.size(), 1u);
  EXPECT_EQ(races[0].kind, RaceKind::write_write);
  EXPECT_FALSE(races[0].advice);
}

TEST_P(BothEngines, StoresOfTheSameValueAreAdvice) {
  RaceTrace trace(mode(), 2, 64);
  for (std::uint32_t thread = 0; thread < 64; ++thread) trace.one(store(), thread, 16, 1);
  for (std::uint32_t block = 0; block < 2; ++block) trace.one(store(block, false), 0, 64, 5);
  const auto races = trace.races();
  ASSERT_EQ(races.size(), 2u);
  for (const Race& race : races) {
    EXPECT_EQ(race.kind, RaceKind::same_value);
    EXPECT_TRUE(race.advice);
  }
}

TEST_P(BothEngines, StoresOfDifferentValuesAreNot) {
  RaceTrace trace(mode(), 1, 64);
  trace.one(store(), 0, 16, 1);
  trace.one(store(), 33, 16, 2);
  EXPECT_EQ(trace.faults(), 1u);
}

TEST_P(BothEngines, NeighbouringBytesAreNoRace) {
  RaceTrace trace(mode(), 2, 64);
  trace.all(store(), 0, 4);      // words first: cells of 4 bytes
  trace.barrier(0);
  I byte_store = store();
  byte_store.bytes = 1;
  trace.all(byte_store, 0, 1);
  I half_store = store(0, false);
  half_store.bytes = 2;
  trace.all(half_store, 0, 2);
  half_store.block = 1;
  trace.all(half_store, 128, 2);
  EXPECT_TRUE(trace.races().empty());
  I byte_load = load();
  byte_load.bytes = 1;
  trace.one(byte_load, 0, 1);
  EXPECT_EQ(trace.faults(), 1u);
}

TEST_P(BothEngines, WideAccessesMeetNarrowOnes) {
  RaceTrace trace(mode(), 1, 64);
  I wide = load();
  wide.bytes = 16;
  trace.one(wide, 0, 32);
  trace.one(store(), 40, 44);
  EXPECT_EQ(trace.faults(), 1u);
  trace.barrier(0);
  trace.one(store(), 40, 48);
  trace.one(wide, 0, 32);
  EXPECT_EQ(trace.faults(), 0u);
  wide.shared = false;
  trace.all(wide, 0, 16);
  trace.one(store(0, false), 3, 16 * 4 + 8);
  EXPECT_EQ(trace.faults(), 1u);
}

TEST_P(BothEngines, BlocksThatWriteTheirOwnPartsAreClean) {
  RaceTrace trace(mode(), 4, 64);
  for (std::uint32_t block = 0; block < 4; ++block) {
    trace.all(load(block, false), 8192, 4);
    trace.all(load(block, false), 8192 + 4, 4);
    trace.all(store(block, false), 256 * block, 4);
  }
  EXPECT_TRUE(trace.races().empty());
}

TEST_P(BothEngines, BlocksThatWriteOneAnothersPartsRace) {
  RaceTrace trace(mode(), 2, 64);
  trace.all(store(0, false), 0, 4);
  trace.barrier(0);
  trace.all(store(1, false), 252, 4, 900);
  const auto races = trace.races();
  ASSERT_EQ(races.size(), 1u);
  EXPECT_TRUE(races[0].across_blocks);
  EXPECT_EQ(races[0].kind, RaceKind::write_write);
  EXPECT_EQ(races[0].first.block, 0u);
  EXPECT_EQ(races[0].first.thread, 63u);
  EXPECT_EQ(races[0].second.block, 1u);
  EXPECT_EQ(races[0].second.thread, 0u);
  EXPECT_EQ(races[0].address, kDeviceOffset + 252);
}

TEST_P(BothEngines, ABlockThatReadsWhatOthersWriteRaces) {
  for (const bool rows : {true, false}) {
    RaceTrace trace(mode(), 3, 64);
    const std::uint64_t at = rows ? 0 : 4;
    trace.all(load(0, false), at, 4);
    trace.all(load(1, false), at, 4);
    trace.all(store(2, false), at, 4);
    EXPECT_EQ(trace.faults(), 1u) << rows;
    trace.all(load(0, false), at, 4);
    EXPECT_EQ(trace.faults(), 1u) << rows;
  }
}

TEST_P(BothEngines, AtomicsDoNotRaceButPlainReadsBesideThemDo) {
  RaceTrace trace(mode(), 2, 64);
  trace.all(store(), 0, 4);
  trace.barrier(0);
  trace.all(atomic(0, true), 0, 0);
  trace.all(atomic(0), 0, 0);
  trace.all(atomic(1), 0, 0);
  trace.barrier(0);
  trace.one(load(), 9, 0);
  EXPECT_TRUE(trace.races().empty());
  trace.one(load(0, false), 9, 0);   // block 1's atomics are unordered
  EXPECT_EQ(trace.faults(), 1u);
  trace.all(atomic(0, true), 64, 0);
  trace.one(load(), 9, 64);
  EXPECT_EQ(trace.faults(), 1u);
}

TEST_P(BothEngines, AReusedBlockSlotStartsClean) {
  RaceTrace trace(mode(), 1, 64);
  trace.all(store(), 0, 4);
  trace.detector.end_block(trace.block(0));
  BlockRaces* next = trace.detector.begin_block(7, RaceTrace::kSharedBytes);
  LaneAddresses offsets{};
  RaceAccess access;
  access.block = next;
  access.warp = 1;
  access.mask = 1;
  access.bytes = 4;
  access.addresses = &offsets;
  trace.detector.access(access);
  EXPECT_TRUE(trace.races().empty());
}

TEST_P(BothEngines, LaunchesAreOrdered) {
  RaceTrace trace(mode(), 1, 64);
  trace.all(store(0, false), 0, 4);
  trace.detector.begin_launch(mode(), 64);
  EXPECT_EQ(trace.global().race_cells[0], nullptr);
  BlockRaces* block = trace.detector.begin_block(0, 0);
  LaneAddresses addresses;
  addresses.fill(kDeviceOffset);
  RaceAccess access;
  access.block = block;
  access.warp = 1;
  access.mask = 1;
  access.bytes = 4;
  access.addresses = &addresses;
  access.allocation = &trace.global();
  trace.detector.access(access);
  EXPECT_TRUE(trace.races().empty());
  trace.detector.end_launch();
}

TEST_P(BothEngines, MemoryIsBoundedAndSaysSo) {
  RaceDetector detector(1 << 16);
  Allocation huge;
  huge.base = kDeviceOffset;
  huge.size = std::uint64_t{1} << 30;
  detector.begin_launch(mode(), 32);
  BlockRaces* block = detector.begin_block(0, 0);
  LaneAddresses addresses;
  RaceAccess access;
  access.block = block;
  access.mask = ~0u;
  access.bytes = 4;
  access.addresses = &addresses;
  access.allocation = &huge;
  for (std::uint64_t step = 0; step < 64; ++step) {
    for (std::uint64_t lane = 0; lane < 32; ++lane) addresses[lane] = huge.base + (step * 32 + lane) * 500'000 / 4 * 4;
    detector.access(access);
  }
  EXPECT_GT(detector.stats().unchecked_accesses, 0u);
  EXPECT_LT(detector.stats().peak_shadow_bytes, 200'000u);
  detector.end_launch();
  EXPECT_EQ(detector.stats().shadow_bytes, 0u);
}

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
TEST(Flags, BlockScopeDoesNotReachOtherBlocks) { EXPECT_EQ(flag(Order::release, Order::acquire, Scope::cta, 1), 1u); }
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
