#include "judge/mismatch_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kforge::judge {
namespace {

using testing::HasSubstr;

std::vector<std::int64_t> where(std::int64_t rows, std::int64_t cols, bool (*wrong)(std::int64_t row, std::int64_t col)) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < rows * cols; ++i)
    if (wrong(i / cols, i % cols)) out.push_back(i);
  return out;
}

TEST(MismatchPattern, NamesTails) {
  EXPECT_EQ(mismatch_pattern(where(10, 70, [](auto, auto col) { return col >= 64; }), {10, 70}), "exactly columns 64 to 69: the tail beyond a multiple of 64");
  EXPECT_THAT(mismatch_pattern(where(65, 20, [](auto row, auto) { return row == 64; }), {65, 20}), HasSubstr("rows 64 to 64: the tail beyond a multiple of 64"));
}

TEST(MismatchPattern, NamesRowsPeriodsAndCorners) {
  EXPECT_EQ(mismatch_pattern(where(10, 10, [](auto row, auto) { return row == 3; }), {10, 10}), "exactly rows 3 alone");
  EXPECT_EQ(mismatch_pattern(where(4, 32, [](auto, auto col) { return col % 4 == 1; }), {4, 32}), "exactly columns that are 1 modulo 4") << "the largest period that holds is not claimed";
  EXPECT_THAT(mismatch_pattern(where(10, 10, [](auto row, auto col) { return row < 4 && col < 4; }), {10, 10}), HasSubstr("rows 0 to 3, at the beginning; columns 0 to 3"));
}

TEST(MismatchPattern, SaysNothingWhereThereIsNothingToSay) {
  EXPECT_EQ(mismatch_pattern(where(8, 8, [](auto, auto) { return true; }), {8, 8}), "");
  EXPECT_EQ(mismatch_pattern({}, {8}), "");
  const std::vector<std::int64_t> one{5};
  EXPECT_EQ(mismatch_pattern(one, {8}), "");
  EXPECT_THAT(mismatch_pattern(where(8, 8, [](auto row, auto col) { return row == col; }), {8, 8}), HasSubstr("scattered"));
}

}  // namespace
}  // namespace kforge::judge
