// The example of every rule is judged: `before` fails the contract that the rule shows and `after` does not; where it shows none, both
// are right. Examples that lie in examples/ and tests/ are judged by tests/check, which enforces their marks; here the marks are read.
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "check_runner.h"
#include "kforge/knowledge.h"

namespace kforge::tests {
namespace {

namespace fs = std::filesystem;

struct Example {
  std::string rule, task, before, after, shows;
};

std::vector<Example> examples(bool judged_here) {
  std::vector<Example> out;
  const auto rules = knowledge_rules();
  if (!rules) return out;
  for (const KnowledgeRule& rule : *rules) {
    if (!rule.built_in || !rule.example) continue;
    const KnowledgeExample& e = *rule.example;
    if (e.before.starts_with("data/knowledge/") == judged_here) out.push_back({rule.id, e.task, e.before, e.after, e.shows});
  }
  return out;
}

std::set<std::string> failed(const CheckRun& run) {
  std::set<std::string> out;
  const auto json = nlohmann::json::parse(run.output.substr(run.output.find('{')), nullptr, false);
  if (json.is_discarded()) return out;
  for (const auto& contract : json.value("contracts", nlohmann::json::array()))
    if (contract.value("status", "") == "failed") out.insert(contract.value("id", ""));
  return out;
}

// A verdict for each pair of task and file, once.
const CheckRun& verdict(const std::string& task, const std::string& file) {
  static std::map<std::pair<std::string, std::string>, CheckRun> known;
  const auto [entry, fresh] = known.try_emplace({task, file});
  if (fresh) entry->second = check(source_folder() / task, source_folder() / file);
  return entry->second;
}

// One test for all, so that a kernel of two rules is judged once.
TEST(Examples, OfTheKnowledgeBaseShowWhatTheirRuleSays) {
  const auto all = examples(true);
  ASSERT_GE(all.size(), 9u);
  for (const Example& e : all) {
    const CheckRun &before = verdict(e.task, e.before), &after = verdict(e.task, e.after);
    EXPECT_EQ(after.status, "accepted") << e.rule << " " << e.after << " " << after.output;
    EXPECT_THAT(failed(after), testing::Not(testing::Contains(e.shows))) << e.rule;
    if (e.shows.empty()) {
      EXPECT_EQ(before.status, "accepted") << e.rule << " " << before.output;
    } else {
      EXPECT_THAT(failed(before), testing::Contains(e.shows)) << e.rule << " " << before.output;
    }
  }
}

bool stands_for_right(const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  return name == "good.cu" || name == "naive.cu" || name.starts_with("right_");
}

TEST(Examples, OfOtherFoldersBearTheMarksThatTestsCheckEnforces) {
  const auto all = examples(false);
  EXPECT_GE(all.size(), 30u);
  for (const Example& e : all) {
    EXPECT_TRUE(stands_for_right(e.after)) << e.rule << " " << e.after;
    if (stands_for_right(e.before)) {
      // The naive kernels of the examples fail memory.coalescing (tests/check, Slow).
      EXPECT_TRUE(e.shows.empty() || (e.before.ends_with("naive.cu") && e.shows == "memory.coalescing")) << e.rule;
      continue;
    }
    const auto marks = expectations(source_folder() / e.before);
    ASSERT_FALSE(marks.empty()) << e.before;
    if (e.shows.empty()) continue;
    EXPECT_THAT(marks.front().contracts, testing::Contains(e.shows)) << e.rule << " " << e.before;
  }
}

}  // namespace
}  // namespace kforge::tests
