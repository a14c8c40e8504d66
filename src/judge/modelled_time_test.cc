// What the verdict's time is made of: counts scaled to whole grids, compulsory bytes shared out, nothing where something is missing.
#include "judge/modelled_time.h"

#include <gtest/gtest.h>

namespace kforge::judge {
namespace {

using evidence::Metric;

struct Setting {
  task::Task task;
  hardware::DataSheet sheet = *hardware::find_sheet("h200");
  std::vector<build::KernelReport> reports;
  std::vector<evidence::KernelProfile> kernels;
  PerformanceInput input() {
    PerformanceInput out;
    out.task = &task;
    out.sheet = &sheet;
    out.reports = &reports;
    out.kernels = &kernels;
    out.compulsory_bytes = 2 << 20;
    out.read_bytes = out.written_bytes = 1 << 20;
    return out;
  }
};

Setting setting() {
  Setting out;
  build::KernelReport report;
  report.kernel = "copy";
  report.registers = 32;
  out.reports = {report};
  evidence::KernelProfile profile;
  profile.kernel = "copy";
  profile.launches = {{{1024, 1, 1}, {256, 1, 1}, 0, 0}};
  profile.launch_count = 1;
  profile.totals[Metric::inst_executed] = 100000;
  profile.totals[Metric::thread_inst_executed] = 3200000;
  profile.totals[Metric::global_requests] = 16384;
  profile.totals[Metric::global_sectors] = profile.totals[Metric::global_sectors_ideal] = 65536;
  profile.totals[Metric::global_load_bytes] = profile.totals[Metric::global_store_bytes] = 1 << 20;
  out.kernels = {profile};
  return out;
}

TEST(ModelledTime, CountsAndResourcesBecomeWork) {
  Setting s = setting();
  const auto work = kernel_work(s.input(), s.kernels[0]);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->blocks, 1024);
  EXPECT_EQ(work->threads_per_block, 256);
  EXPECT_EQ(work->blocks_per_sm, 8);
  EXPECT_EQ(work->warp_instructions, 100000);
  EXPECT_EQ(work->compulsory_read_bytes, 1 << 20);
  EXPECT_EQ(work->compulsory_write_bytes, 1 << 20);
}

TEST(ModelledTime, SampledRunsAreScaledToTheGrid) {
  Setting s = setting();
  s.kernels[0].sampled = true;
  PerformanceInput input = s.input();
  input.sampled_blocks = 64;
  input.read_bytes = input.written_bytes = 16 << 20;
  const auto work = kernel_work(input, s.kernels[0]);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->warp_instructions, 16 * 100000);
  EXPECT_EQ(work->blocks, 1024);
}

// Blocks that take tiles from a queue: a few do the work of all.
TEST(ModelledTime, SampledBlocksThatDidEverythingStandForAll) {
  Setting s = setting();
  s.kernels[0].sampled = true;
  PerformanceInput input = s.input();
  input.sampled_blocks = 64;
  input.read_bytes = input.written_bytes = 1 << 20;
  EXPECT_EQ(kernel_work(input, s.kernels[0])->warp_instructions, 100000);
  input.written_bytes = 2 << 20;
  EXPECT_EQ(kernel_work(input, s.kernels[0])->warp_instructions, 16 * 100000);
}

TEST(ModelledTime, WhatIsMissingGivesNoTime) {
  Setting s = setting();
  EXPECT_TRUE(modelled_time(s.input()));
  s.reports.clear();
  EXPECT_FALSE(modelled_time(s.input()));
  EXPECT_FALSE(time_report({}));
  EXPECT_FALSE(time_report({hardware::ModelledTime{}, std::nullopt}));
}

// The second kernel reads what the first brought into L2, and writes over what it wrote.
TEST(ModelledTime, KernelsAfterTheFirstFindTheInputsInL2) {
  Setting s = setting();
  const double one = modelled_time(s.input())->dram_bytes;
  s.kernels.push_back(s.kernels[0]);
  EXPECT_NEAR(modelled_time(s.input())->dram_bytes, one, 1);
}

TEST(ModelledTime, BytesOfTensorsGoByTheirRole) {
  Setting s = setting();
  s.task.tensors.resize(3);
  for (task::Tensor& tensor : s.task.tensors) tensor.shape = {"n"};
  s.task.tensors[1].role = task::Role::out;
  s.task.tensors[2].role = task::Role::inout;
  PerformanceInput input;
  input.task = &s.task;
  add_tensor_bytes(input, {{"n", 100}});
  EXPECT_EQ(input.compulsory_bytes, 1200);
  EXPECT_EQ(input.read_bytes, 800);
  EXPECT_EQ(input.written_bytes, 800);
}

TEST(ModelledTime, WhatOneBlockLoadsAgainIsHeldByItsShareOfL1) {
  Setting s = setting();
  s.kernels[0].load_reuse.sectors = 80;
  s.kernels[0].load_reuse.first = 10;
  s.kernels[0].load_reuse.again[4] = 40;    // after some 10 other lines
  s.kernels[0].load_reuse.again[20] = 30;   // after half a million
  EXPECT_NEAR(kernel_work(s.input(), s.kernels[0])->l1_miss, 0.5, 1e-9);
}

TEST(ModelledTime, SizesAddUpAndAreMarked) {
  Setting s = setting();
  const auto one = modelled_time(s.input());
  ASSERT_TRUE(one);
  const auto report = time_report({one, one});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->source, "modelled");
  EXPECT_NEAR(report->us, 2 * one->us, 1e-9);
  EXPECT_EQ(report->bottleneck, one->bottleneck);
}

}  // namespace
}  // namespace kforge::judge
