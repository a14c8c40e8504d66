// Rule files: what is read, and that each mistake is named with file, line and key.
#include "knowledge/rule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kforge::knowledge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kGood = R"(+++
id = "my-rule"
title = "Do this"
contracts = ["shared.banks", "memory.coalescing"]
default_for = ["shared.banks"]
patterns = ["transpose"]
applies_when = ["memory_l1_wavefronts_shared > 2 * memory_l1_wavefronts_shared_ideal"]
gain = [1.5, 4]
min_sm = 80
sources = ["a paper"]

[example]
task = "t.toml"
before = "b.cu"
after = "a.cu"
shows = "shared.banks"
+++

# Title

## Why

Because.

## What to do

- This.
- That.

## Notes

Not part of it.
)";

std::string with(std::string_view from, std::string_view to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(RuleFile, AWholeRuleIsRead) {
  const auto rule = parse_rule(kGood, "my.md");
  ASSERT_TRUE(rule) << to_string(rule.error());
  EXPECT_EQ(rule->id, "my-rule");
  EXPECT_THAT(rule->contracts, ElementsAre("shared.banks", "memory.coalescing"));
  EXPECT_EQ(rule->gain_high, 4);
  EXPECT_EQ(rule->min_sm, 80);
  EXPECT_EQ(rule->why, "Because.");
  EXPECT_EQ(rule->what_to_do, "- This.\n- That.");
  EXPECT_EQ(rule->example->shows, "shared.banks");
}

TEST(RuleFile, EveryFaultNamesFileLineAndWhatToDo) {
  struct Row { std::string text; std::string message; int line; std::string hint; };
  const std::vector<Row> rows = {
      {with("patterns", "pattern"), "unknown key 'pattern'", 6, "patterns"},
      {with("\"transpose\"", "\"transpos\""), "transpos", 6, "transpose"},
      {with("\"shared.banks\", \"memory", "\"shared.bank\", \"memory"), "shared.bank", 4, "shared.banks"},
      {with("> 2 * memory_l1_wavefronts_shared_ideal", "> 2 * memory_l1_wavefront_shared"), "unknown quantity 'memory_l1_wavefront_shared'", 7, "memory_l1_wavefronts_shared"},
      {with("> 2 *", "> > 2 *"), "expected a quantity", 7, ""},
      {with("gain = [1.5, 4]", "gain = [0.5, 4]"), "time before over time after", 8, ""},
      {with("gain = [1.5, 4]\n", ""), "missing key 'gain'", 0, "docs/knowledge.md"},
      {with("id = \"my-rule\"", "id = \"../etc\""), "lower-case letters", 2, ""},
      {with("min_sm = 80", "min_sm = \"sm_80\""), "", 9, ""},
      {with("## Why", "## Whyever"), "\"## Why\" is missing", 0, ""},
      {with("default_for = [\"shared.banks\"]", "default_for = [\"occupancy\"]"), "default_for names occupancy", 0, "add it"},
      {with("task = \"t.toml\"\n", ""), "missing key 'task'", 0, ""},
      {"no head", "begins with a line", 1, "docs/knowledge.md"},
      {"+++\nid = \"x\"\n", "not closed", 1, ""},
      {with("title = \"Do this\"", "title = "), "", 3, ""},
  };
  for (const Row& row : rows) {
    const auto rule = parse_rule(row.text, "my.md");
    ASSERT_FALSE(rule) << row.message;
    const Error& error = rule.error();
    EXPECT_EQ(error.code, ErrorCode::bad_input);
    EXPECT_EQ(error.where.file, "my.md");
    EXPECT_THAT(error.message, HasSubstr(row.message));
    EXPECT_THAT(error.hint, HasSubstr(row.hint)) << row.message;
    EXPECT_TRUE(row.line == 0 || error.where.line == row.line) << error.message << " at line " << error.where.line;
  }
}

}  // namespace
}  // namespace kforge::knowledge
