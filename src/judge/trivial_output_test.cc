// An output must say more than zeros, the mean or an input do, however wide the task's own tolerance is.
#include "judge/trivial_output.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kforge::judge {
namespace {

constexpr std::size_t kCount = 64;

class TrivialOutput : public ::testing::Test {
 protected:
  // y = x + shift(i), computed in single precision; `make` says what the candidate wrote for it.
  template <class F>
  std::string judge(const F& make, double reached = 1e-5) {
    std::vector<float> x(kCount), y(kCount);
    std::vector<double> reference(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      x[i] = std::sin(static_cast<float>(i));
      reference[i] = x[i] + 0.01 * std::cos(3.0 * static_cast<double>(i));
      y[i] = make(x[i], static_cast<float>(reference[i]), i);
    }
    const task::TensorLayout layout{{kCount}, {1}, kCount, kCount * sizeof(float)};
    const InputView input{task::Dtype::f32, std::as_bytes(std::span(x)), &layout};
    const Draw draw{std::as_bytes(std::span(y)), reference, {}, std::span(&input, 1)};
    return no_better_than_nothing(std::span(&draw, 1), layout, task::Dtype::f32, reached);
  }
};

TEST_F(TrivialOutput, IsNamed) {
  EXPECT_THAT(judge([](float, float, std::size_t i) { return i % 2 ? 1e-9f : -1e-9f; }), testing::HasSubstr("zeros"));
  EXPECT_THAT(judge([](float x, float, std::size_t) { return x; }), testing::HasSubstr("input 0 as it is"));
  EXPECT_THAT(judge([](float x, float, std::size_t i) { return x * (i % 2 ? 1.0001f : 0.9999f); }), testing::HasSubstr("input 0 as it is")) << "noise does not help";
}

TEST_F(TrivialOutput, LowPrecisionIsMoreThanNothing) {
  EXPECT_EQ(judge([](float, float right, std::size_t) { return right; }), "");
  EXPECT_EQ(judge([](float, float right, std::size_t i) { return right * (i % 2 ? 1.003f : 0.997f); }), "");
}

TEST_F(TrivialOutput, CountsOnlyWhereTheAgreedArithmeticTellsItApart) {
  EXPECT_EQ(judge([](float x, float, std::size_t) { return x; }, 1), "");
}

}  // namespace
}  // namespace kforge::judge
