// Narrower arithmetic than agreed: what the code holds, and what results show.
#include "judge/arithmetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx/parser.h"

namespace kforge::judge {
namespace {

task::Task task_of(task::Dtype dtype, std::optional<task::Dtype> accumulate = {}) {
  task::Task task;
  task.tensors.push_back({"x", dtype, {"n"}, {}, task::Role::in, {}});
  task.tensors.push_back({"y", dtype, {"n"}, {}, task::Role::out, {}});
  task.numerics.accumulate = accumulate;
  return task;
}

std::string operation(const std::string& body, const task::Task& task) {
  const auto module = ptx::parse(".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n.reg .f32 %f<9>;\n.reg .f64 %d<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<9>;\n" + body + "\nret;\n}\n", "k.ptx");
  EXPECT_TRUE(module) << to_string(module.error());
  const auto found = module ? narrower_operation(*module, task) : std::nullopt;
  return found ? found->text : "";
}

TEST(NarrowerOperation, IsAboutTheAgreedType) {
  using task::Dtype;
  const std::string half_add = "add.f16 %h1, %h2, %h3;", to_half = "cvt.rn.f16.f32 %h1, %f1;", to_tf32 = "cvt.rna.tf32.f32 %r1, %f1;", single = "fma.rn.f32 %f1, %f2, %f3, %f4;";
  EXPECT_EQ(operation(single, task_of(Dtype::f32)), "");
  EXPECT_EQ(operation(to_half, task_of(Dtype::f32)), "cvt.f16.f32");
  EXPECT_EQ(operation(to_tf32, task_of(Dtype::f32)), "cvt.tf32.f32");
  EXPECT_EQ(operation(half_add, task_of(Dtype::f32)), "add.f16");
  EXPECT_EQ(operation(to_half, task_of(Dtype::f16)), "") << "the output is of that type";
  EXPECT_EQ(operation(half_add, task_of(Dtype::f16)), "add.f16") << "sums are in f32 unless stated";
  EXPECT_EQ(operation(half_add, task_of(Dtype::f16, Dtype::f16)), "");
  EXPECT_EQ(operation(single, task_of(Dtype::f64)), "fma.f32");
  EXPECT_EQ(operation("cvt.f64.f32 %d1, %f1;", task_of(Dtype::f64)), "");
  EXPECT_EQ(operation(half_add, task_of(Dtype::i32)), "");
}

TEST(ReachedPrecision, IsTheWorstOfAllCalls) {
  const task::Task task = task_of(task::Dtype::f32, task::Dtype::f32);
  ReachedPrecision reached;
  TensorErrors errors;
  errors.norm_error = 0.5;
  errors.norm_bound = 1;
  reached.see("y", "n=1", errors);
  EXPECT_FALSE(reached.worst(task));
  errors.norm_error = 30;
  reached.see("y", "n=2", errors);
  ASSERT_TRUE(reached.worst(task));
  EXPECT_DOUBLE_EQ(reached.worst(task)->times, 30);
  EXPECT_THAT(reached.worst(task)->why, testing::HasSubstr("n=2"));
}

TEST(ReachedPrecision, CountsWhatIsNotTheNearestValue) {
  const task::Task task = task_of(task::Dtype::f16);
  ReachedPrecision reached;
  TensorErrors errors;
  errors.rounded = 1000;
  errors.misrounded = 40;
  errors.expected_misrounded = 3;
  reached.see("y", "n=1000", errors);
  EXPECT_FALSE(reached.worst(task)) << "a few are the hardware's approximations";
  errors.misrounded = 300;
  reached.see("y", "n=1000", errors);
  ASSERT_TRUE(reached.worst(task));
  EXPECT_THAT(reached.worst(task)->why, testing::HasSubstr("17.0%"));
}

}  // namespace
}  // namespace kforge::judge
