// Order statistics of timed calls.
#include "gpu/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace kforge::gpu {
namespace {

TEST(Statistics, MedianAndQuantilesAreOrderStatistics) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  std::vector<double> hundred;
  for (int i = 100; i > 0; --i) hundred.push_back(i);
  EXPECT_EQ(quantile(hundred, 0.99), 99);
  EXPECT_EQ(quantile(hundred, 1), 100);
  EXPECT_EQ(quantile({5}, 0.01), 5);
  EXPECT_NEAR(spread(hundred), 50.0 / 50.5, 1e-12);
}

TEST(Statistics, AnOutlierMovesNeitherMedianNorInterval) {
  std::vector<double> values(100, 10.0);
  values[7] = 1e6;
  EXPECT_EQ(median(values), 10);
  EXPECT_EQ(median_interval(values), 0);
}

TEST(Statistics, TheIntervalHoldsTheMedianInNineteenOfTwenty) {
  std::mt19937_64 random(7);   // printed nowhere: the series is fixed
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  int held = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    std::vector<double> values;
    for (int i = 0; i < 101; ++i) values.push_back(uniform(random));
    std::sort(values.begin(), values.end());
    const double half = median_interval(values) * median(values);   // width; the interval need not be symmetric
    held += std::abs(median(values) - 1.0) <= half;
  }
  EXPECT_GE(held, 1900);
}

TEST(Statistics, FewValuesHaveNoInterval) { EXPECT_EQ(median_interval(std::vector<double>(9, 1.0)), 1); }

}  // namespace
}  // namespace kforge::gpu
