// Numbers drawn for many indices at once are those that each index has by itself.
#include "task/random.h"

#include <gtest/gtest.h>

#include <vector>

namespace kforge::task {
namespace {

constexpr std::uint64_t kFar = 0xfffffffffffffe00u;   // indices wrap around behind it

TEST(Random, ARunOfUnitsIsTheUnitsOfItsIndices) {
  const CounterRandom random(7);
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{12'345}, kFar})
    for (const std::size_t count : {0u, 1u, 3u, 4u, 1023u}) {
      std::vector<double> wide(count), narrow(count);
      units(random, first, wide);
      units(random, first, narrow, false);
      EXPECT_EQ(wide, narrow) << first << " " << count;
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(narrow[i], random.unit(first + i));
    }
}

// A million of them meet each layer's edge, the base layer's and the tail.
TEST(Random, ARunOfNormalsIsTheNormalsOfItsIndices) {
  for (const std::uint64_t key : {1, 2}) {
    const CounterRandom random(key);
    std::vector<double> wide(1'000'003);
    normals(random, 5, wide);
    for (std::size_t i = 0; i < wide.size(); ++i) ASSERT_EQ(wide[i], normal(random, 5 + i)) << i;
  }
}

TEST(Random, ShortRunsOfNormalsToo) {
  const CounterRandom random(3);
  for (const std::size_t count : {0u, 1u, 255u, 256u, 257u}) {
    std::vector<double> wide(count), narrow(count);
    normals(random, kFar, wide);
    normals(random, kFar, narrow, false);
    EXPECT_EQ(wide, narrow) << count;
  }
}

}  // namespace
}  // namespace kforge::task
