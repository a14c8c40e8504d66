// Stretches that are summed at once give what element by element gives, and say so when something stands out.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "judge/element_sums.h"
#include "judge/numerics.h"

namespace kforge::judge {
namespace {

struct Values {
  std::vector<float> out;
  std::vector<double> reference;
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(out)); }
};

Values close_values(std::size_t n) {
  Values v;
  for (std::size_t i = 0; i < n; ++i) {
    v.reference.push_back(std::sin(static_cast<double>(i) + 1));
    v.out.push_back(static_cast<float>(v.reference.back() * (1 + 1e-7 * static_cast<double>(i % 3))));
  }
  return v;
}

constexpr double kAll = std::numeric_limits<double>::max();
// Nothing within the bounds is new.
constexpr ElementLimits kWide{4, 1e-6, 1e-6, 0, kAll, 1, 1};

TEST(ElementSums, AreThoseOfTheElements) {
  for (const std::size_t n : {1u, 3u, 4u, 7u, 256u}) {
    const Values v = close_values(n);
    const ElementSums sums = sum_elements(v.bytes().data(), v.reference, kWide);
    double error = 0, squares_out = 0, dot = 0, largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double e = std::abs(v.out[i] - v.reference[i]);
      error += e;
      squares_out += static_cast<double>(v.out[i]) * v.out[i];
      dot += v.out[i] * v.reference[i];
      largest = std::max(largest, e);
    }
    EXPECT_TRUE(sums.plain);
    EXPECT_NEAR(sums.error, error, 1e-14);
    EXPECT_NEAR(sums.squares_out, squares_out, 1e-10);
    EXPECT_NEAR(sums.dot, dot, 1e-10);
    EXPECT_EQ(sums.largest_error, largest);
  }
}

TEST(ElementSums, AreTheSameToTheLastBitFourAtATime) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t n : {1u, 3u, 4u, 7u, 256u, 1001u})
    for (const bool strange : {false, true}) {
      Values v = close_values(n);
      if (strange) {
        v.out[n / 2] = nan;
        v.reference[n - 1] = 1e300;
      }
      const ElementSums wide = sum_elements(v.bytes().data(), v.reference, kWide), narrow = sum_elements(v.bytes().data(), v.reference, kWide, false);
      EXPECT_EQ(std::memcmp(&wide.error, &narrow.error, sizeof wide - offsetof(ElementSums, error)), 0) << n << ' ' << strange;
      EXPECT_EQ(wide.plain, narrow.plain);
      const ReferenceSums all = sum_references(v.reference, kAll), one = sum_references(v.reference, kAll, false);
      EXPECT_EQ(std::memcmp(&all.squares, &one.squares, sizeof all - offsetof(ReferenceSums, squares)), 0) << n << ' ' << strange;
      EXPECT_EQ(all.plain, one.plain);
    }
}

TEST(ElementSums, WhatStandsOutIsSeenAtEachPlace) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (std::size_t at = 0; at < 11; ++at)
    for (const float strange : {nan, infinity, -infinity, 2.0f}) {
      Values v = close_values(11);
      v.out[at] = strange;
      EXPECT_FALSE(sum_elements(v.bytes().data(), v.reference, kWide).plain) << at << ' ' << strange;
      v = close_values(11);
      v.reference[at] = strange;
      EXPECT_FALSE(sum_elements(v.bytes().data(), v.reference, kWide).plain) << at << ' ' << strange;
      if (strange == 2.0f) continue;
      EXPECT_FALSE(sum_references(v.reference, kAll).plain) << at;
    }
  ElementLimits small = kWide;
  small.most = 0.5;
  EXPECT_FALSE(sum_elements(close_values(8).bytes().data(), close_values(8).reference, small).plain);
}

TEST(ElementSums, ANewWorstErrorStandsOut) {
  const Values v = close_values(8);
  ElementLimits limits = kWide;
  limits.known_relative = 1e-12;
  EXPECT_FALSE(sum_elements(v.bytes().data(), v.reference, limits).plain);
  limits = kWide;
  limits.known_excess = 1e-6;
  EXPECT_FALSE(sum_elements(v.bytes().data(), v.reference, limits).plain);
}

// The same errors, once where the fast sums apply and once shifted by a stride, where each element is looked at.
TEST(ElementSums, AComparisonSaysTheSameOfStridedOutputs) {
  constexpr std::size_t kRows = 9, kColumns = 300;
  for (const bool wrong : {false, true}) {
    Values v = close_values(kRows * kColumns);
    if (wrong) v.out[4 * kColumns + 17] += 0.25f, v.out[8 * kColumns + 299] = -v.out[8 * kColumns + 299];
    std::vector<float> spread(kRows * (kColumns + 1));
    for (std::size_t row = 0; row < kRows; ++row) std::memcpy(&spread[row * (kColumns + 1)], &v.out[row * kColumns], kColumns * sizeof(float));
    task::TensorLayout dense, strided;
    dense.shape = strided.shape = {kRows, kColumns};
    dense.strides = {kColumns, 1};
    strided.strides = {kColumns + 1, 1};
    dense.elements = strided.elements = kRows * kColumns;
    dense.bytes = kRows * kColumns * sizeof(float);
    strided.bytes = spread.size() * sizeof(float);
    NumericsOptions options;
    options.dtype = task::Dtype::f32;
    const Draw a{v.bytes(), v.reference, {}, {}}, b{std::as_bytes(std::span(spread)), v.reference, {}, {}};
    const TensorErrors fast = compare(std::span(&a, 1), dense, options), slow = compare(std::span(&b, 1), strided, options);
    EXPECT_EQ(fast.passed, !wrong) << fast.why;
    EXPECT_EQ(fast.why, slow.why);
    EXPECT_EQ(fast.mismatched, slow.mismatched);
    EXPECT_EQ(fast.mismatches, slow.mismatches);
    EXPECT_EQ(fast.worst_index, slow.worst_index);
    EXPECT_EQ(fast.max_abs, slow.max_abs);
    EXPECT_EQ(fast.max_rel, slow.max_rel);
    EXPECT_NEAR(fast.rmse, slow.rmse, 1e-12);
    EXPECT_NEAR(fast.cosine, slow.cosine, 1e-12);
    EXPECT_NEAR(fast.psnr_db, slow.psnr_db, 1e-6);
  }
}

}  // namespace
}  // namespace kforge::judge
