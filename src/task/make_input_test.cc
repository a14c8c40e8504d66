// Inputs: what each distribution and each adversarial kind gives, in each type, and that the seed alone decides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "task/adversarial.h"
#include "task/cases.h"
#include "task/dtype_convert.h"
#include "task/values.h"

namespace kforge::task {
namespace {

std::vector<double> make(const std::string& values, Dtype dtype, std::int64_t rows, std::int64_t cols, std::string_view kind = "declared",
                         std::uint64_t seed = 1) {
  Task task;
  task.name = "t";
  Tensor tensor;
  tensor.name = "x";
  tensor.dtype = dtype;
  tensor.shape = {"rows", "cols"};
  auto parsed = parse_values(values, dtype);
  EXPECT_TRUE(parsed) << values;
  tensor.values = *parsed;
  auto bytes = make_input(task, tensor, {{"rows", rows}, {"cols", cols}}, kind, seed);
  EXPECT_TRUE(bytes) << to_string(bytes.error());
  std::vector<double> out;
  for (std::size_t i = 0; bytes && i < bytes->size(); i += size_bytes(dtype)) out.push_back(load_element(dtype, bytes->data() + i));
  return out;
}

double mean(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size()); }

TEST(MakeInput, NormalHasItsMomentsAndTails) {
  const auto v = make("normal(3, 2)", Dtype::f64, 1000, 1000);
  double second = 0, fourth = 0, beyond = 0;
  const double m = mean(v);
  for (const double x : v) {
    const double d = (x - 3) / 2;
    second += d * d;
    fourth += d * d * d * d;
    beyond += std::abs(d) > 3.6541528853610088 ? 1 : 0;   // in the ziggurat's tail
  }
  EXPECT_NEAR(m, 3, 0.01);
  EXPECT_NEAR(second / 1e6, 1, 0.006);
  EXPECT_NEAR(fourth / 1e6, 3, 0.06);
  EXPECT_NEAR(beyond, 258, 80);
}

TEST(MakeInput, TheSeedDecidesAndNothingElse) {
  EXPECT_EQ(make("normal(0, 1)", Dtype::f32, 40, 9), make("normal(0, 1)", Dtype::f32, 40, 9));
  EXPECT_NE(make("normal(0, 1)", Dtype::f32, 40, 9), make("normal(0, 1)", Dtype::f32, 40, 9, "declared", 2));
  // Threads share the large ones; each element is what it would be alone.
  const auto large = make("uniform(0, 1)", Dtype::f32, 2048, 1024);
  const auto small = make("uniform(0, 1)", Dtype::f32, 2, 1024);
  EXPECT_TRUE(std::equal(small.begin(), small.end(), large.begin()));
}

TEST(MakeInput, EachDistributionIsWhatItSays) {
  for (const double x : make("integers(-3, 5)", Dtype::i32, 50, 50)) EXPECT_TRUE(x >= -3 && x <= 5 && x == std::floor(x));
  const auto bytes = make("integers(0, 255)", Dtype::u8, 100, 100);
  EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), 255);
  EXPECT_EQ(*std::min_element(bytes.begin(), bytes.end()), 0);
  for (const double x : make("integers(0, rows - 1)", Dtype::i32, 7, 50)) EXPECT_TRUE(x >= 0 && x < 7);
  EXPECT_THAT(make("constant(2.5)", Dtype::f16, 1, 3), testing::Each(2.5));
  EXPECT_THAT(make("ramp(1, 0.5)", Dtype::f32, 1, 4), testing::ElementsAre(1, 1.5, 2, 2.5));
  const auto hot = make("one_hot", Dtype::f32, 20, 10);
  for (int r = 0; r < 20; ++r) EXPECT_EQ(std::accumulate(hot.begin() + r * 10, hot.begin() + r * 10 + 10, 0.0), 1);
  auto order = make("permutation", Dtype::i32, 2, 100);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.begin() + 100));
  std::sort(order.begin(), order.begin() + 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(MakeInput, AdversarialValuesStayInsideTheDeclaredRange) {
  for (const auto& type : dtype_table()) {
    if (type.id == Dtype::boolean) continue;
    for (const auto* values : {"uniform(0, 1)", "uniform(0.3, 0.7)", "uniform(-2, 3)", "integers(0, 100)", "integers(3, 3)"}) {
      const auto parsed = parse_values(values, type.id);
      if (!parsed) continue;
      const auto range = declared_range(*parsed, parsed->arguments, type.id);
      if (!type.floating && std::ceil(range.lowest) > std::floor(range.highest)) continue;   // 0.3 to 0.7 holds no integer
      for (const auto kind : kAdversarialKinds)
        for (const double x : make(values, type.id, 10, 30, kind)) ASSERT_TRUE(range.contains(x)) << type.name << " " << values << " " << kind << " " << x;
    }
  }
}

TEST(MakeInput, AdversarialKindsAreWhatTheySay) {
  EXPECT_THAT(make("normal(0, 1)", Dtype::f32, 3, 3, "zeros"), testing::Each(0.0));
  for (const auto dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3, Dtype::e5m2, Dtype::tf32})
    for (const double x : make("normal(0, 1)", dtype, 8, 8, "denormals")) EXPECT_TRUE(x != 0 && std::abs(x) < min_normal(dtype)) << name(dtype) << x;
  for (const double x : make("normal(0, 1)", Dtype::f32, 8, 8, "large")) EXPECT_TRUE(std::abs(x) >= 64 && std::abs(x) <= 1024);
  const auto mixed = make("normal(0, 1)", Dtype::f32, 30, 30, "mixed_signs");
  EXPECT_GT(std::count_if(mixed.begin(), mixed.end(), [](double x) { return x < 0; }), 300);
  EXPECT_GT(std::count_if(mixed.begin(), mixed.end(), [](double x) { return x > 0; }), 300);
  for (const auto& [values, dtype] : {std::pair{"normal(0, 1)", Dtype::f32}, {"uniform(-2, 3)", Dtype::f16}, {"integers(-100, 100)", Dtype::i32}, {"normal(0, 1)", Dtype::e4m3}}) {
    EXPECT_THAT(make(values, dtype, 30, 30, "negative"), testing::Each(testing::Lt(0))) << values;
    EXPECT_THAT(make(values, dtype, 30, 30, "positive"), testing::Each(testing::Gt(0))) << values;
  }
  for (const double x : make("normal(0, 1)", Dtype::f32, 30, 30, "repeated_integers")) EXPECT_TRUE(x == std::floor(x) && std::abs(x) <= 8);
  for (const double x : make("uniform(0, 1)", Dtype::f32, 30, 30, "repeated_integers")) EXPECT_TRUE(x * 8 == std::floor(x * 8) && x >= 0);
}

TEST(MakeInput, StridesLeaveGapsOfOnes) {
  Task task;
  Tensor tensor;
  tensor.name = "x";
  tensor.shape = {"2", "3"};
  tensor.strides = {"5", "1"};
  tensor.values = {"ramp", {1, 1}, {"", ""}};
  const auto bytes = make_input(task, tensor, {}, "declared", 1);
  ASSERT_TRUE(bytes);
  ASSERT_EQ(bytes->size(), 32u);
  EXPECT_EQ(load_element(Dtype::f32, bytes->data() + 5 * 4), 4);
  EXPECT_TRUE(std::isnan(load_element(Dtype::f32, bytes->data() + 3 * 4)));
}

TEST(MakeInput, RefusesOutputsAndWhatDoesNotFit) {
  Task task;
  Tensor tensor;
  tensor.name = "x";
  tensor.shape = {"n"};
  EXPECT_EQ(make_input(task, tensor, {{"n", 1ll << 50}}, "declared", 1).error().code, ErrorCode::limit);
  tensor.values = {"permutation", {}, {}};
  tensor.dtype = Dtype::i8;
  EXPECT_FALSE(make_input(task, tensor, {{"n", 129}}, "declared", 1));
  tensor.role = Role::out;
  EXPECT_FALSE(make_input(task, tensor, {{"n", 2}}, "declared", 1));
}

}  // namespace
}  // namespace kforge::task
