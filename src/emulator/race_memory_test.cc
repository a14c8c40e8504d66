// What remembering the accesses of global memory costs, by byte of memory that a launch touches.
#include <gtest/gtest.h>

#include "emulator/race_trace.h"

namespace kforge::emulator {
namespace {

using I = RaceTrace::Instruction;

constexpr std::uint32_t kWords = RaceTrace::kGlobalBytes / 4, kThreads = 256, kBlocks = 16;
constexpr I kLoad{.shared = false, .location = 10};
constexpr I kStore{.shared = false, .kind = AccessKind::store, .location = 20};

// Every word once by each instruction of `program`: f(block, warp of all, instruction) runs a warp's share. With barriers between.
double shadow_per_byte(const std::vector<I>& program, void (*share)(RaceTrace&, I, std::uint32_t), RaceMode mode = {}) {
  constexpr double kWrittenBits = 0.125;
  RaceTrace trace(mode, kBlocks, kThreads);
  for (std::uint32_t block = 0; block < kBlocks; ++block)
    for (I instruction : program) {
      instruction.block = block;
      for (std::uint32_t warp = 0; warp < kThreads / 32; ++warp) {
        instruction.warp = warp;
        share(trace, instruction, block * (kThreads / 32) + warp);
      }
      trace.barrier(block);
    }
  EXPECT_TRUE(trace.races().empty());
  trace.detector.end_launch();
  const RaceStats stats = trace.detector.stats();
  EXPECT_EQ(stats.unchecked_accesses, 0u);
  return static_cast<double>(stats.peak_shadow_bytes) / RaceTrace::kGlobalBytes + kWrittenBits;
}

constexpr std::uint32_t kShare = kWords / (kBlocks * kThreads / 32);   // words of a warp

void rows(RaceTrace& trace, I instruction, std::uint32_t warp) {
  for (std::uint32_t word = 0; word < kShare; word += 32) trace.warp(instruction, 4 * (warp * kShare + word), 4);
}
// Not aligned to the 32 lanes: no rows.
void shifted(RaceTrace& trace, I instruction, std::uint32_t warp) {
  for (std::uint32_t word = 0; word < kShare; word += 32) trace.warp(instruction, (4 * (warp * kShare + word) + 20) % (4 * (kWords - 32)), 4);
}
// Each lane in a row of its own.
void columns(RaceTrace& trace, I instruction, std::uint32_t warp) {
  for (std::uint32_t word = 0; word < kShare; word += 32) trace.warp(instruction, 4 * (warp * kShare + word) / 32, kWords / 8);
}
void broadcast(RaceTrace& trace, I instruction, std::uint32_t warp) {
  for (std::uint32_t word = 0; word < kShare; ++word) trace.warp(instruction, 4 * (warp * kShare + word), 0);
}

TEST(RaceMemory, IsAtMostThreeBytesAByteReadAndWritten) {
  EXPECT_LE(shadow_per_byte({kLoad, kStore, kLoad}, rows), 1.0);
  EXPECT_LE(shadow_per_byte({kLoad, kStore, kLoad}, columns), 3.0);
  EXPECT_LE(shadow_per_byte({kLoad}, shifted), 2.0);
  EXPECT_LE(shadow_per_byte({kLoad}, broadcast), 2.0);
}

TEST(RaceMemory, IsAtMostThreeBytesAByteWhereAccessesAreRememberedOneByOne) {
  EXPECT_LE(shadow_per_byte({kLoad, kStore, kLoad}, rows, {.fences = true}), 1.0);
  EXPECT_LE(shadow_per_byte({kLoad, kStore, kLoad}, columns, {.fences = true}), 3.0);
  EXPECT_LE(shadow_per_byte({kLoad}, shifted, {.fences = true}), 2.0);
  EXPECT_LE(shadow_per_byte({kLoad}, broadcast, {.fences = true}), 2.0);
}

void bytes(RaceTrace& trace, I instruction, std::uint32_t warp) {
  instruction.bytes = 1;
  for (std::uint32_t at = 0; at < 4 * kShare; at += 32) trace.warp(instruction, (4 * warp * kShare + at + 5) % (4 * kWords - 32), 1);
}

TEST(RaceMemory, IsAtMostEightBytesAByteWhereBytesAreAccessed) {
  EXPECT_LE(shadow_per_byte({kLoad}, bytes, {.fences = true}), 8.0);
  EXPECT_LE(shadow_per_byte({kLoad}, bytes), 8.0);
  EXPECT_GT(shadow_per_byte({kLoad}, bytes), 3.0);
}

TEST(RaceMemory, RequestsThatNoCellNamesAreForgotten) {
  RaceTrace trace({}, 1, 32);
  for (std::uint32_t round = 0; round < 20000; ++round) {   // a request each
    trace.warp(kLoad, 20, 4);
    trace.barrier(0);
  }
  trace.detector.end_launch();
  EXPECT_LT(trace.detector.stats().peak_shadow_bytes, 40'000u);
}

TEST(RaceMemory, WhatIsKeptOutlivesWhatIsForgotten) {
  RaceTrace trace({}, 2, 64);
  I early = kStore;
  early.location = 77;
  trace.one(early, 37, 4096);
  for (std::uint32_t round = 0; round < 5000; ++round) {
    trace.warp(kLoad, 20, 4);
    trace.barrier(0);
  }
  I late = kLoad;
  late.block = 1;
  trace.one(late, 3, 4096);
  const auto races = trace.races();
  ASSERT_EQ(races.size(), 1u);
  EXPECT_EQ(races[0].first.location, 77u);
  EXPECT_EQ(races[0].first.thread, 37u);
  EXPECT_EQ(races[0].first.block, 0u);
  EXPECT_TRUE(races[0].across_blocks);
}

}  // namespace
}  // namespace kforge::emulator
