// Conditions of rules: what they say of given quantities, and where a wrong one is wrong.
#include "knowledge/condition.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kforge::knowledge {
namespace {

std::optional<bool> holds(std::string_view text, const std::map<std::string, double, std::less<>>& known) {
  const auto condition = Condition::parse(text);
  EXPECT_TRUE(condition) << text << ": " << (condition ? "" : to_string(condition.error()));
  if (!condition) return std::nullopt;
  return condition->holds([&](std::string_view name) -> std::optional<double> {
    const auto found = known.find(name);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Condition, ComparesQuantitiesWithTheUsualPrecedence) {
  EXPECT_EQ(holds("a + b * c > 6", {{"a", 1}, {"b", 2}, {"c", 3}}), true);
  EXPECT_EQ(holds("(a + b) * c > 9", {{"a", 1}, {"b", 2}, {"c", 3}}), false);
  EXPECT_EQ(holds("a - b - c == -4", {{"a", 1}, {"b", 2}, {"c", 3}}), true);
  EXPECT_EQ(holds("a < 2 || a > 3 && b > 0", {{"a", 1}, {"b", -1}}), true);
  EXPECT_EQ(holds("l1tex__t_requests_pipe_lsu_mem_global.sum >= 10", {{"l1tex__t_requests_pipe_lsu_mem_global.sum", 10}}), true);
}

TEST(Condition, WhatIsNotKnownIsUnknownUnlessTheRestDecides) {
  EXPECT_EQ(holds("a > 1", {}), std::nullopt);
  EXPECT_EQ(holds("a > 1 && b > 1", {{"b", 0}}), false);
  EXPECT_EQ(holds("a > 1 && b > 1", {{"b", 2}}), std::nullopt);
  EXPECT_EQ(holds("a > 1 || b > 1", {{"b", 2}}), true);
  EXPECT_EQ(holds("a / b > 1", {{"a", 1}, {"b", 0}}), std::nullopt);
}

TEST(Condition, MalformedTextIsAnErrorWithItsColumn) {
  struct Row { std::string_view text, message; int column; };
  for (const Row& row : {Row{"a >", "expected a quantity", 4}, {"a b", "expected an operator", 3}, {"a", "compares two quantities", 1},
                         {"(a > 1", "expected ')'", 7}, {"a > $", "expected a quantity, found '$'", 5}, {"a && b > 1", "needs comparisons", 11},
                         {"(a > 1) + 2 > 0", "needs quantities", 13}, {"1.2.3 > a", "malformed number", 6}, {"", "found the end", 1}}) {
    const auto condition = Condition::parse(row.text);
    ASSERT_FALSE(condition) << row.text;
    EXPECT_THAT(condition.error().message, testing::HasSubstr(std::string(row.message))) << row.text;
    EXPECT_EQ(condition.error().where.column, row.column) << row.text;
  }
  EXPECT_FALSE(Condition::parse(std::string(5000, '(')));
  EXPECT_FALSE(Condition::parse(std::string(5000, '-')));
}

}  // namespace
}  // namespace kforge::knowledge
