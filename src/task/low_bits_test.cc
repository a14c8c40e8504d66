// Pairs of inputs that differ in the lowest bits of one tensor alone.
#include "task/low_bits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <set>

#include "task/cases.h"

namespace kforge::task {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Task product(const std::string& values = "uniform(-1, 1)") {
  Task task;
  task.name = "t";
  for (const char* name : {"a", "b", "c"}) {
    Tensor& tensor = task.tensors.emplace_back();
    tensor.name = name;
    tensor.dtype = Dtype::f32;
    tensor.shape = {"n"};
    tensor.role = *name == 'c' ? Role::out : Role::in;
    tensor.values = *parse_values(values, Dtype::f32);
  }
  task.measure = {{{"n", 300}}};
  task.numerics.abs = 0.1;
  return task;
}

std::vector<std::uint32_t> bits(const Task& task, std::size_t tensor, std::string_view kind, std::uint64_t seed) {
  const auto bytes = make_input(task, task.tensors[tensor], {{"n", 300}}, kind, seed);
  EXPECT_TRUE(bytes);
  std::vector<std::uint32_t> out(bytes ? bytes->size() / 4 : 0);
  if (bytes) std::memcpy(out.data(), bytes->data(), bytes->size());
  return out;
}

TEST(LowBits, OnlyTheNamedTensorMovesWithinAPair) {
  const Task task = product();
  EXPECT_EQ(bits(task, 1, "low_bits:a", 10), bits(task, 1, "low_bits:a", 11));
  EXPECT_NE(bits(task, 0, "low_bits:a", 10), bits(task, 0, "low_bits:a", 11));
  EXPECT_NE(bits(task, 1, "low_bits:a", 10), bits(task, 1, "low_bits:a", 12)) << "another pair";
}

TEST(LowBits, WhatCutsOrRoundsSeesNoDifference) {
  const Task task = product();
  const auto first = bits(task, 0, "low_bits:a", 10), second = bits(task, 0, "low_bits:a", 11);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    moved += first[i] != second[i];
    for (const int cut : {13, 16}) {   // tf32 and f16; bf16
      const std::uint32_t mask = ~((1u << cut) - 1), half = 1u << (cut - 1);
      EXPECT_EQ(first[i] & mask, second[i] & mask);
      EXPECT_EQ((first[i] + half) & mask, (second[i] + half) & mask) << "to the nearest";
      EXPECT_EQ((first[i] + ~mask) & mask, (second[i] + ~mask) & mask) << "upwards";
    }
  }
  EXPECT_GT(moved, first.size() * 9 / 10);
}

TEST(LowBits, ValuesStayInTheirRangeAndZerosZero) {
  const Task task = product("uniform(1, 1.0001)");
  for (const std::uint64_t seed : {10, 11})
    for (const std::uint32_t one : bits(task, 0, "low_bits:a", seed)) {
      EXPECT_GE(std::bit_cast<float>(one), 1.0f);
      EXPECT_LE(std::bit_cast<float>(one), 1.0001f);
    }
  float values[3] = {0.0f, std::bit_cast<float>(0xffffffffu), 1.5f};
  set_low_bits(std::as_writable_bytes(std::span(values)), CounterRandom(1), {});
  EXPECT_EQ(values[0], 0.0f);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(values[1]), 0xffffffffu) << "what lies between elements";
  EXPECT_NE(values[2], 1.5f);
}

TEST(LowBits, CasesAreMadeWhereTheyCanSaySomething) {
  const auto kinds = [](const Task& task) {
    std::vector<std::string> out;
    const auto cases = make_cases(task, {});
    EXPECT_TRUE(cases);
    for (const Case& one : *cases) {
      if (!one.values.starts_with(kLowBits)) continue;
      out.push_back(one.values);
      EXPECT_EQ(one.seed % 2, 0u);
      EXPECT_EQ(one.calls % 2, 0u);
    }
    return out;
  };
  EXPECT_THAT(kinds(product()), ElementsAre("low_bits:a", "low_bits:b", "low_bits:a", "low_bits:b"));
  Task stated = product();
  stated.numerics.accumulate = Dtype::f32;
  EXPECT_THAT(kinds(stated), IsEmpty()) << "an excess says enough there";
  Task usual = product();
  usual.numerics.abs.reset();
  EXPECT_THAT(kinds(usual), IsEmpty()) << "the usual bound sees it";
  EXPECT_THAT(kinds(product("integers(0, 9)")), IsEmpty());
  Task half = product();
  half.tensors[2].dtype = Dtype::f16;
  EXPECT_THAT(kinds(half), IsEmpty()) << "its rounding hides the bits";
}

// A kernel may take another path where it is measured.
TEST(LowBits, SmallDrawnAndMeasuredSizesAreTried) {
  std::set<std::int64_t> sizes;
  const auto cases = make_cases(product(), {.fresh_seed = 7});
  ASSERT_TRUE(cases);
  for (const Case& one : *cases)
    if (one.values.starts_with(kLowBits)) sizes.insert(one.sizes.at("n"));
  EXPECT_THAT(sizes, ::testing::SizeIs(3));
  EXPECT_THAT(sizes, ::testing::IsSupersetOf({std::int64_t{65}, std::int64_t{300}}));
  Task large = product();
  large.measure = {{{"n", 1 << 20}}};
  const auto of_large = make_cases(large, {});
  ASSERT_TRUE(of_large);
  for (const Case& one : *of_large) EXPECT_FALSE(one.values.starts_with(kLowBits) && one.sizes.at("n") == 1 << 20) << "too much to emulate for this";
}

TEST(LowBits, FewElementsAreTriedMoreOften) {
  Task task = product();
  task.tensors[2].shape = {"1"};
  const auto cases = make_cases(task, {});
  ASSERT_TRUE(cases);
  for (const Case& one : *cases) {
    if (one.values.starts_with(kLowBits)) {
      EXPECT_EQ(one.calls, 16u);
    }
  }
}

}  // namespace
}  // namespace kforge::task
