// Cases: the sizes of contracts.md, what `where` and the declared ranges leave of them, and how many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "task/cases.h"
#include "task/task_samples_test.h"

namespace kforge::task {
namespace {

Task softmax() {
  auto task = parse_task(kSampleTask, "task.toml");
  EXPECT_TRUE(task);
  return *task;
}

std::vector<Case> cases_of(const Task& task, CaseOptions options = {}) {
  auto cases = make_cases(task, options);
  EXPECT_TRUE(cases) << to_string(cases.error());
  return cases ? *cases : std::vector<Case>{};
}

std::set<std::int64_t> extents(const std::vector<Case>& cases, const std::string& name) {
  std::set<std::int64_t> found;
  for (const auto& one : cases) found.insert(one.sizes.at(name));
  return found;
}

TEST(Cases, EachDimensionTakesEachSpecialExtent) {
  const auto cases = cases_of(softmax(), {.tile_sizes = {{"rows", {64}}, {"cols", {64}}}});
  for (const auto* name : {"rows", "cols"})
    for (const std::int64_t extent : {1, 2, 31, 32, 33, 127, 63, 64, 65, 8192})
      EXPECT_TRUE(extents(cases, name).contains(extent)) << name << " " << extent;
}

TEST(Cases, AFreshSeedChangesTheInputsOfAll) {
  const auto usual = cases_of(softmax()), fresh = cases_of(softmax(), {.fresh_seed = 77}), again = cases_of(softmax(), {.fresh_seed = 77});
  ASSERT_EQ(usual.size() + 2, fresh.size());
  for (std::size_t i = 0; i + 1 < usual.size(); ++i) {
    EXPECT_NE(usual[i].seed, fresh[i].seed) << usual[i].label;
    EXPECT_EQ(fresh[i].seed, again[i].seed);
    EXPECT_EQ(fresh[i].sizes, usual[i].sizes);
  }
}

// A candidate may be right at every boundary that it knows.
TEST(Cases, TwoSizesAreDrawnFromTheFreshSeed) {
  auto task = softmax();
  task.measure = {{{"rows", 4096}, {"cols", 1000}}};
  std::set<Sizes> seen;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto cases = cases_of(task, {.fresh_seed = seed});
    const Case &first = cases[cases.size() - 3], &second = cases[cases.size() - 2];
    for (const auto& [name, extent] : first.sizes) {
      EXPECT_EQ(extent % 2, 1) << first.label;
      EXPECT_GT(extent, 128) << first.label;
    }
    for (const Case* one : {&first, &second}) {
      EXPECT_EQ(one->values, "declared");
      EXPECT_LE(total_elements(task, one->sizes).value_or(1 << 30), 1 << 17) << one->label;
      EXPECT_LE(one->sizes.at("cols"), 1000);
      seen.insert(one->sizes);
    }
  }
  EXPECT_GT(seen.size(), 95u);
  task.where = {"cols % 64 == 0 && rows == cols"};
  const auto tied = cases_of(task, {.fresh_seed = 5});
  EXPECT_EQ(tied.size(), cases_of(task).size() + 2);
  task.where = {"cols == 1000"};
  task.verify.clear();
  EXPECT_EQ(extents(cases_of(task, {.fresh_seed = 5}), "cols"), std::set<std::int64_t>{1000});
}

TEST(Cases, AreFewDistinctAndInOrder) {
  const auto cases = cases_of(softmax());
  EXPECT_LE(cases.size(), 24u);
  std::set<std::pair<Sizes, std::string>> seen;
  std::set<std::uint64_t> seeds;
  for (const auto& one : cases) {
    EXPECT_TRUE(seen.insert({one.sizes, one.values}).second) << one.label;
    EXPECT_TRUE(seeds.insert(one.seed).second);
  }
  EXPECT_EQ(cases[0].label, "rows=1 cols=1");
  EXPECT_EQ(cases[1].label, "rows=17 cols=1000");
  EXPECT_TRUE(cases.back().measure);
  EXPECT_EQ(std::count_if(cases.begin(), cases.end(), [](const Case& c) { return c.measure; }), 1);
  EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [](const Case& c) { return c.calls == 5; }));
  std::set<std::string> values;
  for (const auto& one : cases) values.insert(one.values);
  EXPECT_EQ(values, (std::set<std::string>{"declared", "zeros", "denormals", "large", "mixed_signs", "repeated_integers", "negative", "positive"}));
}

TEST(Cases, SmallOutputsNeedDrawsUntil32ElementsArePooled) {
  const auto task = softmax();
  const auto cases = cases_of(task);
  EXPECT_EQ(draws_to_pool(task, cases[0].sizes), 32u);
  EXPECT_EQ(draws_to_pool(task, cases[1].sizes), 1u);
}

TEST(Cases, WhereIsObeyedAndItsBoundariesKept) {
  auto task = softmax();
  task.where = {"cols % 4 == 0 && rows == cols"};
  task.verify.clear();
  const auto cases = cases_of(task);
  for (const auto& one : cases) EXPECT_TRUE(one.sizes.at("cols") % 4 == 0 && one.sizes.at("rows") == one.sizes.at("cols")) << one.label;
  EXPECT_THAT(extents(cases, "cols"), testing::IsSupersetOf({4, 32, 36, 128}));
  task.where = {"cols == 4096"};
  task.measure = {{{"rows", 8}, {"cols", 4096}}};
  EXPECT_EQ(extents(cases_of(task), "cols"), std::set<std::int64_t>{4096});
}

TEST(Cases, NoSizeLeftIsAnError) {
  auto task = softmax();
  task.where = {"cols < 0"};
  const auto cases = make_cases(task, {});
  ASSERT_FALSE(cases);
  EXPECT_EQ(cases.error().code, ErrorCode::bad_input);
}

TEST(Cases, ValuesThatNoRangeHoldsAreLeftOut) {
  auto task = softmax();
  task.tensors[0].values = {"uniform", {1, 2}, {"", ""}};
  for (const auto& one : cases_of(task)) {
    EXPECT_NE(one.values, "zeros");
    EXPECT_NE(one.values, "denormals");
    EXPECT_NE(one.values, "mixed_signs");
    EXPECT_NE(one.values, "negative");
  }
  task.tensors[0].values = {"permutation", {}, {}};
  for (const auto& one : cases_of(task)) EXPECT_EQ(one.values, "declared");
}

TEST(Cases, EmptyTensorsAreLeftOut) {
  auto task = softmax();
  task.tensors[1].shape = {"rows", "cols - 2"};
  task.verify.clear();
  for (const auto& one : cases_of(task)) EXPECT_GT(one.sizes.at("cols"), 2) << one.label;
}

TEST(Cases, FixedShapesGiveOneSize) {
  auto task = softmax();
  task.where.clear();
  task.verify.clear();
  task.measure = {{}};
  for (auto& tensor : task.tensors) tensor.shape = {"16", "8"};
  const auto cases = cases_of(task);
  EXPECT_EQ(cases.front().label, "fixed size");
  EXPECT_EQ(cases.size(), 8u);
}

TEST(Layout, RowMajorStridedAndTooLarge) {
  const auto task = softmax();
  auto tensor = task.tensors[0];
  const auto plain = layout(tensor, {{"rows", 3}, {"cols", 5}});
  ASSERT_TRUE(plain);
  EXPECT_THAT(plain->strides, testing::ElementsAre(5, 1));
  EXPECT_EQ(plain->elements, 15);
  EXPECT_EQ(plain->bytes, 60u);
  tensor.strides = {"cols + 3", "1"};
  const auto padded = layout(tensor, {{"rows", 3}, {"cols", 5}});
  ASSERT_TRUE(padded);
  EXPECT_EQ(padded->bytes, (2u * 8 + 5) * 4);
  EXPECT_FALSE(layout(task.tensors[0], {{"rows", 1ll << 40}, {"cols", 1ll << 40}}));
  EXPECT_FALSE(layout(task.tensors[0], {{"rows", 3}}));
  tensor.shape = {"rows - 4", "cols"};
  EXPECT_THAT(layout(tensor, {{"rows", 3}, {"cols", 5}}).error().message, testing::HasSubstr("negative"));
}

}  // namespace
}  // namespace kforge::task
