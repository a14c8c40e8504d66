#include "trial/memory_need.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kforge::trial {
namespace {

using ::testing::HasSubstr;

// n elements in, n out, 4 bytes each.
task::Task copy_task() {
  task::Task task;
  task.path = "t/task.toml";
  task.name = "copy";
  task.tensors.resize(2);
  for (task::Tensor& tensor : task.tensors) {
    tensor.dtype = task::Dtype::f32;
    tensor.shape = {"n"};
  }
  task.tensors[0].name = "x";
  task.tensors[0].role = task::Role::in;
  task.tensors[1].name = "y";
  task.tensors[1].role = task::Role::out;
  return task;
}

Job job(std::int64_t n) {
  Job out;
  out.run.sizes = {{"n", n}};
  out.run.label = "n=" + std::to_string(n);
  return out;
}

constexpr std::uint64_t kMiB = 1 << 20;

TEST(MemoryNeed, CountsEveryCopyOfATensor) {
  const task::Task task = copy_task();
  const std::vector<Job> one = {job(kMiB)};   // tensors of 4 MiB
  const auto whole = memory_need(task, one, RunKind::whole), sampled = memory_need(task, one, RunKind::sampled), gpu = memory_need(task, one, RunKind::on_gpu);
  ASSERT_TRUE(whole && sampled && gpu);
  // 8 of tensors, 2 of bits, 24 of race cells, 16 of arena, 4 of poison.
  EXPECT_NEAR(static_cast<double>(whole->candidate), 54.0 * kMiB, 0.1 * kMiB);
  EXPECT_NEAR(static_cast<double>(sampled->candidate), 30.0 * kMiB, 0.1 * kMiB);
  EXPECT_NEAR(static_cast<double>(gpu->candidate), 20.0 * kMiB, 0.1 * kMiB);
  // Besides: 4 of outputs, 16 and 8 of the reference, 4 of inputs and 8 of expected outputs.
  EXPECT_NEAR(static_cast<double>(whole->machine), 94.0 * kMiB, 0.2 * kMiB);
  EXPECT_NEAR(static_cast<double>(sampled->machine), 22.0 * kMiB, 0.1 * kMiB);
}

TEST(MemoryNeed, GrowsWithWhatIsPreparedAhead) {
  const task::Task task = copy_task();
  std::vector<Job> jobs = {job(kMiB), job(kMiB), job(1), job(1), job(1), job(100 * kMiB)};
  const auto need = memory_need(task, jobs, RunKind::whole);
  ASSERT_TRUE(need);
  EXPECT_NEAR(static_cast<double>(need->machine), 106.0 * kMiB, 0.2 * kMiB);   // the last one is not reached yet
}

TEST(MemoryNeed, WhatDoesNotFitIsNamedWithBothFigures) {
  const task::Task task = copy_task();
  const std::vector<Job> jobs = {job(16), job(kMiB), job(1 << 30)};
  EXPECT_TRUE(check_memory(task, std::span(jobs).first(2), RunKind::whole, 1ull << 30, 1ull << 30));
  const auto machine = check_memory(task, jobs, RunKind::whole, 0, 16ull << 30);
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().code, ErrorCode::missing);
  EXPECT_THAT(machine.error().message, HasSubstr("the size n=1073741824 needs about 72.0 GiB of memory, and this machine has 16.0 GiB left"));
  const auto process = check_memory(task, std::span(jobs).last(1), RunKind::sampled, 8ull << 30, 1ull << 40);
  ASSERT_FALSE(process);
  EXPECT_THAT(process.error().message, HasSubstr("the size n=1073741824 needs about 30.0 GiB of memory, and the process of a candidate may take 8.0 GiB"));
}

TEST(MemoryNeed, TheMachineTellsWhatItHas) {
  EXPECT_GT(available_memory(), 16 * kMiB);
  EXPECT_LT(available_memory(), 1ull << 50);
}

}  // namespace
}  // namespace kforge::trial
