// The patterns of CUDA programs, right and wrong, played by hand: the right ones raise nothing, the wrong ones are named.
#include "emulator/race.h"

#include <gtest/gtest.h>

#include "emulator/race_steps.h"

namespace kforge::emulator {
namespace {

using namespace race_steps;
using I = RaceTrace::Instruction;

constexpr RaceMode kEpochs{};

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

}  // namespace
}  // namespace kforge::emulator
