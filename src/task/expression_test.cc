// Expressions: values, precedence, errors with their column.
#include "task/expression.h"

#include <gtest/gtest.h>

namespace kforge::task {
namespace {

const Sizes kSizes{{"rows", 7}, {"cols", 10}, {"huge", 9223372036854775807}};

std::int64_t value(std::string_view text) {
  const auto parsed = Expression::parse(text);
  const auto result = parsed ? parsed->value(kSizes) : Unexpected(parsed.error());
  EXPECT_TRUE(result) << text << ": " << to_string(result.error());
  return result ? *result : -999;
}

TEST(Expression, Values) {
  const std::pair<const char*, std::int64_t> rows[] = {
      {"rows", 7}, {"rows + cols * 2", 27}, {"(rows + cols) * 2", 34}, {"cols - 3 - 2", 5}, {"cols / 3", 3}, {"cols % 3", 1},
      {"-rows + 8", 1}, {"--rows", 7}, {"min(rows, cols)", 7}, {"max(rows, cols - 4)", 7}, {"ceil_div(cols, 4)", 3}, {"ceil_div(-7, 2)", -3},
      {"ceil_div(8, 4)", 2}, {" 12 ", 12}, {"min(max(1, 2), 3)", 2}};
  for (const auto& [text, expected] : rows) EXPECT_EQ(value(text), expected) << text;
}

TEST(Expression, Conditions) {
  const std::pair<const char*, bool> rows[] = {
      {"rows < cols", true}, {"rows >= cols", false}, {"rows == 7 && cols != 10", false}, {"rows == 7 || cols / 0 == 1", true},
      {"rows != 7 && cols / 0 == 1", false}, {"!(rows > 3)", false}, {"rows == 1 || rows == 7 && cols == 10", true}, {"(rows <= 7)", true},
      {"cols % 4 == 0 && rows >= 1", false}, {"(rows < 3) == (cols < 3)", true}};
  for (const auto& [text, expected] : rows) {
    const auto result = holds(text, kSizes);
    if (std::string_view(text).find("== (cols") != std::string_view::npos) EXPECT_FALSE(result) << "truth values do not compare";
    else if (result) EXPECT_EQ(*result, expected) << text;
    else ADD_FAILURE() << text << ": " << to_string(result.error());
  }
}

TEST(Expression, ErrorsHaveColumns) {
  const std::pair<const char*, int> rows[] = {{"", 1}, {"rows +", 7}, {"rows cols", 6}, {"(rows", 6}, {"foo(1, 2)", 1}, {"min(1)", 6}, {"3 @ 4", 3},
                                              {"1.5", 2}, {"rows + (rows < 1)", 14}, {"99999999999999999999", 1}, {"3x", 2}};
  for (const auto& [text, column] : rows) {
    const auto parsed = Expression::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().where.column, column) << text << ": " << parsed.error().message;
    EXPECT_FALSE(parsed.error().hint.empty());
  }
}

TEST(Expression, EveryOverflowIsAnError) {
  for (const auto* text : {"huge + 1", "huge * 2", "-huge - 2", "rows / 0", "rows % 0", "ceil_div(rows, 0)", "(-huge - 1) / -1", "(-huge - 1) % -1", "-(-huge - 1)"})
    EXPECT_FALSE(evaluate(text, kSizes)) << text;
  EXPECT_FALSE(evaluate("3 - rows", kSizes)) << "extents are not negative";
  EXPECT_FALSE(evaluate("row", kSizes));
}

TEST(Expression, NumbersInTheOrderOfTheNames) {
  const auto condition = Expression::parse_condition("b == 1 || a % b == 0");
  ASSERT_TRUE(condition);
  ASSERT_EQ(condition->names(), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(condition->value_of(std::vector<std::optional<std::int64_t>>{4, 8}).value_or(-1), 1);
  EXPECT_EQ(condition->value_of(std::vector<std::optional<std::int64_t>>{4, 9}).value_or(-1), 0);
  EXPECT_EQ(condition->value_of(std::vector<std::optional<std::int64_t>>{1, std::nullopt}).value_or(-1), 1) << "what need not be known may be unknown";
  const auto unknown = condition->value_of(std::vector<std::optional<std::int64_t>>{4, std::nullopt});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().where.column, 11);
}

}  // namespace
}  // namespace kforge::task
