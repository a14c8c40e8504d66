#include "trial/prepared_store.h"

#include <gtest/gtest.h>

namespace kforge::trial {
namespace {

Job job(std::int64_t n, std::uint64_t seed = 1) {
  Job out;
  out.run.sizes = {{"n", n}};
  out.run.values = "declared";
  out.run.seed = seed;
  return out;
}

Prepared prepared(std::size_t bytes) {
  Prepared out;
  out.inputs.emplace_back(std::vector<std::byte>(bytes));
  return out;
}

TEST(PreparedStore, AnswersForTheSameCallAlone) {
  PreparedStore store;
  store.keep(job(1), false, prepared(10));
  ASSERT_TRUE(store.find(job(1), false));
  EXPECT_EQ(store.find(job(1), false)->inputs[0].size(), 10u);
  EXPECT_FALSE(store.find(job(2), false));
  EXPECT_FALSE(store.find(job(1, 2), false));
  EXPECT_FALSE(store.find(job(1), true));
  Job other = job(1);
  other.run.values = "ramp";
  EXPECT_FALSE(store.find(other, false));
  other = job(1);
  other.call = 1;
  EXPECT_FALSE(store.find(other, false));
}

TEST(PreparedStore, WhatWasUsedLeastRecentlyGivesWay) {
  PreparedStore store(10'000);
  for (std::int64_t n = 1; n <= 4; ++n) store.keep(job(n), false, prepared(2'000));
  ASSERT_TRUE(store.find(job(1), false));
  store.keep(job(5), false, prepared(2'000));
  EXPECT_TRUE(store.find(job(1), false));
  EXPECT_FALSE(store.find(job(2), false));
  EXPECT_TRUE(store.find(job(5), false));
}

TEST(PreparedStore, KeepsNoErrorsAndNothingThatFillsIt) {
  PreparedStore store(10'000);
  store.keep(job(1), false, prepared(9'000));
  EXPECT_FALSE(store.find(job(1), false));
  Prepared broken;
  broken.error = Error{ErrorCode::bad_input, "no", {}, {}};
  store.keep(job(2), false, broken);
  EXPECT_FALSE(store.find(job(2), false));
}

}  // namespace
}  // namespace kforge::trial
