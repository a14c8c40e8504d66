// The built-in knowledge base keeps its promises; a user's rules join it.
#include "kforge/knowledge.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "task/contract_ids.h"
#include "knowledge/condition.h"
#include "knowledge/messages.h"

namespace kforge {
namespace {

using testing::HasSubstr;

// Rules of one's own in a folder of the test's.
class Knowledge : public testing::Test {
 protected:
  void SetUp() override { ::setenv("KFORGE_KNOWLEDGE", (folder_.path() / "rules").c_str(), 1); }
  void TearDown() override { ::unsetenv("KFORGE_KNOWLEDGE"); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name) << text;
    return (folder_.path() / name).string();
  }
  TemporaryDirectory folder_ = std::move(*TemporaryDirectory::create());
};

std::vector<KnowledgeRule> all() {
  auto rules = knowledge_rules();
  EXPECT_TRUE(rules) << (rules ? "" : to_string(rules.error()));
  return rules ? *rules : std::vector<KnowledgeRule>{};
}

TEST_F(Knowledge, HasAtLeastThirtyRulesWithExamplesAndSources) {
  const auto rules = all();
  EXPECT_GE(rules.size(), 60u);
  EXPECT_GE(std::count_if(rules.begin(), rules.end(), [](const KnowledgeRule& r) { return r.example.has_value(); }), 50);
  for (const KnowledgeRule& rule : rules) {
    EXPECT_FALSE(rule.sources.empty()) << rule.id;
    EXPECT_EQ(rule.file, "data/knowledge/" + rule.id + ".md");
    if (!rule.example) continue;
    EXPECT_FALSE(rule.example->before_source.empty()) << rule.id;
    EXPECT_NE(rule.example->before_source, rule.example->after_source) << rule.id;
  }
}

TEST_F(Knowledge, EveryContractHasExactlyOneRuleThatItsFindingsCiteByDefault) {
  const auto rules = all();
  for (const task::ContractId& row : task::kContractIds) {
    const auto defaults = std::count_if(rules.begin(), rules.end(), [&](const KnowledgeRule& rule) {
      return std::find(rule.default_for.begin(), rule.default_for.end(), row.id) != rule.default_for.end();
    });
    EXPECT_EQ(defaults, 1) << row.id;
  }
}

TEST_F(Knowledge, WordsInBackquotesThatLookLikeRulesAreRules) {
  const auto rules = all();
  std::set<std::string> ids;
  for (const KnowledgeRule& rule : rules) ids.insert(rule.id);
  for (const KnowledgeRule& rule : rules) {
    const std::string text = rule.why + rule.what_to_do;
    for (std::size_t at = text.find(": `"); at != std::string::npos; at = text.find(": `", at + 1)) {
      const std::string word = text.substr(at + 3, text.find('`', at + 3) - at - 3);
      const bool like_an_id = word.find('-') != std::string::npos && std::all_of(word.begin(), word.end(), [](char c) { return c == '-' || (c >= 'a' && c <= 'z'); });
      if (!like_an_id || word.front() == '-') continue;
      EXPECT_TRUE(ids.contains(word)) << rule.id << " refers to " << word;
    }
  }
}

TEST_F(Knowledge, FindingsCiteTheFittingRule) {
  struct Row { std::string contract, cause, message, rule; };
  for (const Row& row : {Row{"shared.banks", "lanes of one request fall into the same banks", "4 wavefronts", "pad-shared-rows"},
                         {"safety.races", "race-read-write", "unordered", "barrier-between"},
                         {"safety.races", "race-same-value", "unordered", "same-value-stores"},
                         {"safety.races", "race-missing-acquire", "unordered", "publish-with-fence"},
                         {"safety.bounds", "misaligned", "16 bytes at an address", "aligned-vectors"},
                         {"safety.bounds", "out-of-bounds", "4 bytes past", "guard-extents"},
                         {"safety.barriers", "shuffle-absent-lane", "lane 3", "shuffle-mask"},
                         {"safety.barriers", "barrier-divergence", "12 of 256 threads", "uniform-barriers"},
                         {"registers.spill", "", "4 warp requests to local memory: an array", "constant-local-index"},
                         {"compute.divergence", "", "on average 1.0 of 32 lanes are active", "busy-lanes"},
                         {"no.such.contract", "", "", ""}}) {
    Finding finding;
    finding.contract = row.contract;
    finding.cause = row.cause;
    finding.message = row.message;
    EXPECT_EQ(rule_for(finding), row.rule) << row.contract << " " << row.cause;
  }
}

TEST_F(Knowledge, BuildFindingsGetCauseAndFixOfTheirMessage) {
  Verdict verdict;
  Finding finding;
  finding.contract = "build";
  finding.message = "identifier \"__shfl_down\" is undefined";
  verdict.findings = {finding};
  cite_rules(verdict);
  EXPECT_EQ(verdict.findings[0].rule, "first-error-first");
  EXPECT_THAT(verdict.findings[0].cause, HasSubstr("without a mask"));
  EXPECT_THAT(verdict.findings[0].advice.at(0), HasSubstr("_sync"));
}

TEST_F(Knowledge, SearchPutsTitlesBeforeTexts) {
  const auto found = search_knowledge({"Pad", "shared"});
  ASSERT_TRUE(found);
  ASSERT_FALSE(found->empty());
  EXPECT_EQ(found->front().id, "pad-shared-rows");
  EXPECT_TRUE(search_knowledge({"no such word anywhere"})->empty());
}

TEST_F(Knowledge, AnUnknownRuleIsNamedWithItsNearest) {
  const auto rule = knowledge_rule("pad-shared-row");
  ASSERT_FALSE(rule);
  EXPECT_THAT(rule.error().hint, HasSubstr("pad-shared-rows"));
}

const std::string kOwn = "+++\nid = \"pad-shared-rows\"\ntitle = \"Ours\"\ncontracts = [\"shared.banks\"]\ndefault_for = [\"shared.banks\"]\ngain = [1, 2]\n"
                         "sources = [\"us\"]\n+++\n## Why\nx\n## What to do\ny\n";

TEST_F(Knowledge, AUsersRuleIsCheckedCopiedAndTakesTheBuiltInOnesPlace) {
  const auto path = add_knowledge(write("own.md", kOwn));
  ASSERT_TRUE(path) << to_string(path.error());
  const auto rule = knowledge_rule("pad-shared-rows");
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->title, "Ours");
  EXPECT_FALSE(rule->built_in);
  EXPECT_EQ(rule->file, *path);
}

TEST_F(Knowledge, ABrokenRuleOfTheUsersIsAnErrorWithItsPlaceAndSpoilsNoVerdict) {
  ASSERT_TRUE(add_knowledge(write("own.md", kOwn)));
  std::ofstream(folder_.path() / "rules" / "broken.md") << "+++\nid = 3\n+++\n";
  const auto rules = knowledge_rules();
  ASSERT_FALSE(rules);
  EXPECT_THAT(rules.error().where.file, HasSubstr("broken.md"));
  EXPECT_EQ(rules.error().where.line, 2);
  Finding finding;
  finding.contract = "numerics";
  EXPECT_EQ(rule_for(finding), "accumulate-in-f32");
}

TEST_F(Knowledge, ARuleIsNotAddedWhenItsExampleIsMissingOrElsewhere) {
  std::string text = kOwn;
  text.insert(text.find("+++\n## Why"), "[example]\ntask = \"t\"\nbefore = \"nowhere.cu\"\nafter = \"a.cu\"\n");
  const auto path = add_knowledge(write("own.md", text));
  ASSERT_FALSE(path);
  EXPECT_THAT(path.error().message, HasSubstr("nowhere.cu"));
}

TEST_F(Knowledge, ARuleAppliesWhenAllItsConditionsHold) {
  const auto rule = knowledge_rule("vector-access");
  ASSERT_TRUE(rule);
  const auto at = [](double bytes, double contiguous) {
    return [=](std::string_view name) -> std::optional<double> { return name == "line.bytes_per_lane" ? bytes : name == "line.contiguous" ? std::optional(contiguous) : std::nullopt; };
  };
  EXPECT_EQ(applies(*rule, at(4, 1)), true);
  EXPECT_EQ(applies(*rule, at(16, 1)), false);
  EXPECT_EQ(applies(*rule, [](std::string_view) { return std::optional<double>(); }), std::nullopt);
}

TEST(Messages, TheEmbeddedTableIsWellFormedAndLong) {
  const auto text = read_file(std::string(KFORGE_SOURCE_DIR) + "/data/knowledge/compiler-messages.toml");
  ASSERT_TRUE(text);
  const auto rows = knowledge::parse_messages(*text, "compiler-messages.toml");
  ASSERT_TRUE(rows) << to_string(rows.error());
  EXPECT_GE(rows->size(), 65u);
  EXPECT_EQ(rows->size(), compiler_messages().size());
}

TEST(Messages, SpecialEntriesWinOverGeneralOnes) {
  EXPECT_EQ(explain_message("identifier \"__shfl\" is undefined")->id, "old-shuffle");
  EXPECT_EQ(explain_message("identifier \"foo\" is undefined")->id, "undeclared-identifier");
  EXPECT_EQ(explain_message("all is well"), nullptr);
  EXPECT_EQ(explain_message(std::string(1 << 20, '"')), nullptr);
}

TEST(Messages, FaultsOfTheTableNameTheirLine) {
  const auto rows = knowledge::parse_messages("[[message]]\nid = \"a\"\ntool = \"nvcc\"\npattern = \"(\"\ncause = \"c\"\nfix = \"f\"\nwith = \"ptx\"\nsource = \"s\"\n", "m.toml");
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().where.line, 4);
  EXPECT_THAT(rows.error().message, HasSubstr("regular expression"));
}

// docs/knowledge.md lists each quantity in backquotes.
TEST(Quantities, AreAllDocumented) {
  const auto text = read_file(std::string(KFORGE_SOURCE_DIR) + "/docs/knowledge.md");
  ASSERT_TRUE(text);
  for (const std::string& name : knowledge::known_quantities()) EXPECT_NE(text->find("`" + name + "`"), std::string::npos) << name;
}

}  // namespace
}  // namespace kforge
