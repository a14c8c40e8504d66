// Outputs that follow the lowest bits of an operand, and outputs that do not.
#include "judge/operand_use.h"

#include <gtest/gtest.h>

#include <random>

namespace kforge::judge {
namespace {

constexpr double kAllowed = 1e-6;
constexpr std::size_t kElements = 200;

// `follow` of the reference's change arrives at the output; `noise` is what its arithmetic adds to each call.
std::optional<OperandUse::Blind> blind(double follow, double noise, std::size_t elements = kElements, double change = 1e-4) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  OperandUse use;
  std::vector<double> out[2], reference[2];
  for (std::size_t i = 0; i < elements; ++i) {
    const double value = normal(random), d = change * normal(random);
    reference[0].push_back(value);
    reference[1].push_back(value + d);
    out[0].push_back(value + noise * normal(random));
    out[1].push_back(value + follow * d + noise * normal(random));
  }
  if (noise == 0) out[0] = reference[0];
  for (const bool second : {false, true}) use.see("a", "c", "n=4", second, out[second], reference[second], kAllowed);
  return use.blind();
}

TEST(OperandUse, ACutOperandIsSeen) {
  const auto found = blind(0, 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->operand, "a");
  EXPECT_EQ(found->output, "c");
  EXPECT_EQ(found->slope, 0);
  EXPECT_TRUE(blind(0.4, 0)) << "most of the sum";
  EXPECT_TRUE(blind(0.87, 1e-6)) << "small elements alone";
  EXPECT_TRUE(blind(0, 1e-5)) << "with noise on it";
}

TEST(OperandUse, WhatFollowsIsNot) {
  EXPECT_FALSE(blind(1, 0));
  EXPECT_FALSE(blind(1, 1e-6));
  EXPECT_FALSE(blind(0.97, 1e-6)) << "an approximate function";
}

TEST(OperandUse, AnInexactKernelProvesNothing) {
  EXPECT_FALSE(blind(1, 1e-3)) << "ten times the change";
  EXPECT_FALSE(blind(0, 1e-3));
}

TEST(OperandUse, ASmallChangeOrFewElementsProveNothing) {
  EXPECT_FALSE(blind(0, 0, kElements, 1e-8));
  EXPECT_FALSE(blind(0, 0, 4));
}

TEST(OperandUse, WhatIsNotFiniteIsPassedOver) {
  OperandUse use;
  const double nan = std::nan("");
  use.see("a", "c", "n=4", false, {nan, 1}, {1, 1}, kAllowed);
  use.see("a", "c", "n=4", true, {1, 1}, {2, nan}, kAllowed);
  EXPECT_FALSE(use.blind());
}

TEST(OperandUse, EachSizeIsJudgedByItself) {
  OperandUse use;
  for (const char* size : {"k=64", "k=256"})
    for (const bool second : {false, true}) {
      const bool follows = std::string_view(size) == "k=64";
      std::vector<double> reference(kElements, second ? 1.0001 : 1.0), out = follows ? reference : std::vector<double>(kElements, 1.0);
      for (double& value : reference) value *= follows ? 1000 : 1;   // the size that is followed alone outweighs the other
      if (follows) out = reference;
      use.see("a", "c", size, second, out, reference, kAllowed);
    }
  EXPECT_TRUE(use.blind());
}

TEST(OperandUse, HalfAPairSaysNothing) {
  OperandUse use;
  use.see("a", "c", "n=4", true, {1}, {1}, kAllowed);
  use.see("a", "c", "n=4", false, {1}, {1}, kAllowed);
  EXPECT_FALSE(use.blind());
}

}  // namespace
}  // namespace kforge::judge
