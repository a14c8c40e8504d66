// The time model: each term alone against its formula, the order of kernels that are known to be ordered, and what must never happen.
#include "hardware/time_model.h"

#include <gtest/gtest.h>

#include "hardware/roofline.h"

namespace kforge::hardware {
namespace {

const DataSheet& h200() {
  static const DataSheet sheet = *find_sheet("h200");
  return sheet;
}

// A kernel that fills the GPU: 132 x 16 blocks of 256 threads.
KernelWork full_grid() {
  KernelWork work;
  work.blocks = 132 * 16;
  work.threads_per_block = 256;
  work.blocks_per_sm = 8;
  return work;
}

// A copy of `bytes`, 16 bytes a lane, four loads in flight.
KernelWork copy(double bytes) {
  KernelWork work = full_grid();
  work.blocks = bytes / (256 * 64);
  work.global_requests = 2 * bytes / 512;
  work.store_requests = bytes / 512;
  work.store_sectors = bytes / 32;
  work.l1_cycles = bytes / 128 + bytes / 64;
  work.global_sectors = work.global_sectors_ideal = 2 * bytes / 32;
  work.load_bytes = work.store_bytes = work.compulsory_read_bytes = work.compulsory_write_bytes = bytes;
  work.warp_instructions = bytes / 512 * 12;
  work.thread_instructions = work.warp_instructions * 32;
  work.loads_in_flight = 4;
  return work;
}

TEST(TimeModel, TermsAreTheirFormulas) {
  const DataSheet& s = h200();
  const double clock = s.boost_mhz * 1e6, sms = s.multiprocessors;
  KernelWork work = full_grid();
  work.warp_instructions = 1e9;
  work.thread_instructions = 32e9;
  work.fp32_ops = 2e12;
  work.special_ops = 1e11;
  work.shared_wavefronts = 3e9;
  const ModelledTime time = model_time(s, work);
  EXPECT_NEAR(time.term("issue"), 1e9 / (4 * sms * clock) * 1e6, 1e-3);
  EXPECT_NEAR(time.term("fp32"), 2e12 / (256 * sms * clock) * 1e6, 1e-3);
  EXPECT_NEAR(time.term("special"), 1e11 / (16 * sms * clock) * 1e6, 1e-3);
  EXPECT_NEAR(time.term("shared"), 3e9 / (sms * clock) * 1e6, 1e-3);
  EXPECT_EQ(time.term("dram"), 0);
  EXPECT_EQ(time.terms[0].name, "fp32");
  EXPECT_NE(time.bottleneck.find("fp32"), std::string::npos);
  EXPECT_FALSE(memory_bound(s, work));
}

TEST(TimeModel, ALargeCopyIsBoundByDram) {
  const double bytes = 1 << 30;
  const ModelledTime time = model_time(h200(), copy(bytes));
  EXPECT_EQ(time.terms[0].name, "dram");
  EXPECT_TRUE(memory_bound(h200(), copy(bytes)));
  const double floor = bytes / h200().dram_bytes_per_s * 1e6;
  EXPECT_GE(time.us, floor);
  // gpu-benches (gpu-stream/h200.txt, "scale") reads 3.1 to 3.4 TB/s for a copy.
  EXPECT_NEAR(time.us, 2 * bytes / 3.4e12 * 1e6, 0.1 * time.us);
}

TEST(TimeModel, NeverBelowTheRoofline) {
  for (const std::string& name : sheet_names()) {
    const DataSheet sheet = *find_sheet(name);
    for (const double bytes : {1e4, 1e6, 1e8, 1e10}) {
      const KernelWork work = copy(bytes);
      Work floor;
      floor.dram_bytes = bytes;
      floor.l2_bytes = 2 * bytes;
      EXPECT_GE(model_time(sheet, work).us * 1e-6, roofline(sheet, floor).seconds * 0.999) << name << " " << bytes;
    }
  }
}

TEST(TimeModel, WasteCosts) {
  KernelWork good = copy(1 << 28), bad = good;
  bad.global_requests *= 4;                 // stores of 4 bytes a lane, a row apart
  bad.store_requests *= 4;
  bad.store_sectors = bad.partial_sectors = bad.store_requests * 32;
  bad.global_sectors = bad.store_requests * 32 + bad.store_requests * 4;
  EXPECT_GT(model_time(h200(), bad).us, 2 * model_time(h200(), good).us);
  EXPECT_EQ(model_time(h200(), bad).terms[0].name, "l2");
  const double slices = h200().l2_bytes_per_s / 64;   // passes a second
  EXPECT_GE(model_time(h200(), bad).term("l2"), 2 * bad.partial_sectors / slices * 1e6 * 0.999) << "a sector that is written in part is read and written";

  KernelWork conflicts = good;
  conflicts.shared_requests = 1e8;
  conflicts.shared_wavefronts = 32e8;
  KernelWork clean = conflicts;
  clean.shared_wavefronts = 1e8;
  EXPECT_GT(model_time(h200(), conflicts).us, 3 * model_time(h200(), clean).us);
}

TEST(TimeModel, FewWarpsLeaveLatencyOpen) {
  KernelWork many = copy(1 << 28), few = many;
  few.blocks_per_sm = 1;
  few.loads_in_flight = 1;
  const ModelledTime time = model_time(h200(), few);
  EXPECT_GT(time.us, model_time(h200(), many).us);
  EXPECT_EQ(time.terms[0].name, "latency");
}

TEST(TimeModel, WhatL1HoldsDoesNotReachL2) {
  KernelWork again = copy(1 << 26);
  again.global_requests += 7 * (again.global_requests - again.store_requests);   // every byte is loaded eight times
  again.global_sectors += 7 * (again.global_sectors - again.store_sectors);
  again.load_bytes *= 8;
  KernelWork held = again;
  held.l1_miss = 1.0 / 8;
  EXPECT_NEAR(model_time(h200(), held).l2_bytes, model_time(h200(), copy(1 << 26)).l2_bytes, 1);
  EXPECT_LT(model_time(h200(), held).term("l2"), 0.5 * model_time(h200(), again).term("l2"));
  EXPECT_LT(model_time(h200(), held).us, model_time(h200(), again).us);
}

TEST(TimeModel, AtomicsOfOneLineFollowEachOther) {
  KernelWork spread = full_grid();
  spread.atomic_passes = 1 << 20;
  spread.hottest_line_passes = 64;
  KernelWork one = spread;
  one.hottest_line_passes = 1 << 20;
  EXPECT_NEAR(model_time(h200(), one).term("atomics"), (1 << 20) * h200().alu_latency / (h200().boost_mhz * 1e6) * 1e6, 1e-3);
  EXPECT_LT(model_time(h200(), spread).term("atomics"), 0.05 * model_time(h200(), one).term("atomics"));
}

TEST(TimeModel, DataOfAnEarlierKernelComeFromL2) {
  const KernelWork fresh = copy(1 << 24);
  KernelWork warm = fresh;
  warm.compulsory_read_bytes = 0;
  EXPECT_LT(model_time(h200(), warm).term("dram"), 0.51 * model_time(h200(), fresh).term("dram"));
  KernelWork unknown = fresh;
  unknown.compulsory_read_bytes = unknown.compulsory_write_bytes = -1;
  EXPECT_DOUBLE_EQ(model_time(h200(), unknown).term("dram"), model_time(h200(), fresh).term("dram"));
}

// One block a multiprocessor: between barriers nothing overlaps the wait. Four: another block's work does.
TEST(TimeModel, BarriersOfALoneBlockLeaveItsWaitsOpen) {
  KernelWork alone = full_grid();
  alone.blocks = 132;
  alone.blocks_per_sm = 1;
  const double warps = alone.blocks * 8;
  alone.warp_instructions = warps * 4000;
  alone.thread_instructions = alone.warp_instructions * 32;
  alone.fp32_ops = alone.thread_instructions * 2;
  alone.global_requests = warps * 64;
  alone.global_sectors = alone.global_sectors_ideal = alone.global_requests * 4;
  alone.load_bytes = alone.global_sectors * 32;
  alone.compulsory_read_bytes = 0;
  KernelWork free = alone;
  alone.barriers = warps * 128;
  EXPECT_GT(model_time(h200(), alone).term("latency"), model_time(h200(), alone).term("fp32") + 64 * h200().l2_latency / h200().boost_mhz * 0.99);
  EXPECT_GT(model_time(h200(), alone).us, model_time(h200(), free).us);
}

TEST(TimeModel, TailsAndLaunchesCost) {
  KernelWork whole = full_grid();
  whole.warp_instructions = 1e8;
  whole.thread_instructions = 32e8;
  KernelWork tail = whole;
  whole.blocks = 132;
  tail.blocks = 133;                        // one SM has twice the work
  EXPECT_NEAR(model_time(h200(), tail).term("issue"), model_time(h200(), whole).term("issue") * 2 * 132 / 133, 1e-3);
  KernelWork many = whole;
  many.launches = 100;
  EXPECT_GE(model_time(h200(), many).us, 100);
}

TEST(TimeModel, SampledCountsScale) {
  KernelWork work = copy(1 << 26);
  KernelWork part = scaled(work, 0.125);
  part = scaled(part, 8);
  EXPECT_NEAR(model_time(h200(), part).us, model_time(h200(), work).us, 1e-6);
}

TEST(TimeModel, NothingGivesOnlyTheLaunch) {
  const ModelledTime time = model_time(h200(), {});
  EXPECT_GT(time.us, 0);
  EXPECT_LT(time.us, 5);
}

TEST(TimeModel, KernelsAddUp) {
  const ModelledTime one = model_time(h200(), copy(1 << 26));
  const ModelledTime two = total({one, one});
  EXPECT_NEAR(two.us, 2 * one.us, 1e-9);
  EXPECT_NEAR(two.term("dram"), 2 * one.term("dram"), 1e-9);
}

}  // namespace
}  // namespace kforge::hardware
