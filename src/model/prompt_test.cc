// Whole prompts against golden files: what a model is told, word for word. KFORGE_REBASE=1 model_test writes them anew, for a person to read.
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "model/prompt_parts.h"
#include "model/standing.h"

namespace kforge::model {
namespace {

using testing::HasSubstr;
using testing::Not;

void expect_golden(const std::string& name, const std::string& got) {
  const std::string path = std::string(KFORGE_SOURCE_DIR) + "/src/model/testdata/" + name + ".md";
  if (const char* rebase = std::getenv("KFORGE_REBASE"); rebase && *rebase) std::ofstream(path, std::ios::binary) << got;
  const auto text = read_file(path);
  ASSERT_TRUE(text) << path;
  EXPECT_EQ(*text, got) << "KFORGE_REBASE=1 model_test writes " << path << "; raise the version in data/prompts/prompts.toml when the meaning changed";
}

class Prompts : public testing::Test {
 protected:
  Prompts() : task_(*task::read_task(std::string(KFORGE_SOURCE_DIR) + "/examples/softmax/task.toml")), sheet_(*hardware::find_sheet("h200")) {
    plan_.guess = {"softmax", 1, "the task says so"};
    plan_.sizes = {{{{"rows", 4096}, {"cols", 1024}}, 1e7, 16777216, 16777216, "dram", 3.5, 8.0}};
    plan_.steps = {{"template:row_fused", "one block or warp a row, the row kept on chip", "the row is read three times", "", 8, true, {}}};
    options_.reference = *read_file(std::string(KFORGE_SOURCE_DIR) + "/examples/softmax/reference.cpp");
    options_.device = "an emulated GPU (emulated h200)";
    const std::string naive = *read_file(std::string(KFORGE_SOURCE_DIR) + "/examples/softmax/naive.cu");
    verdict_.status = VerdictStatus::rejected;
    verdict_.why = "fails memory.coalescing";
    verdict_.time = TimeReport{};
    verdict_.time->us = 273.2;
    verdict_.time->source = "modelled";
    verdict_.time->bottleneck = "L2 bandwidth";
    verdict_.resources = {{"softmax_rows", 32, 0, 0, 64, "warps"}};
    verdict_.contracts = {{"memory.coalescing", Level::required, Status::failed, "8.00", "each hot line <= 1.25", "emulator(ptx)"}};
    Finding f;
    f.contract = "memory.coalescing";
    f.line = 10;
    f.kernel = "softmax_rows";
    f.message = "32 sectors per request where 4 would do: 8.00 times the ideal";
    f.measured = "8.00";
    f.required = "each hot line <= 1.25";
    f.cause = "neighbouring lanes read addresses 4096 bytes apart";
    f.advice = {"let neighbouring lanes touch neighbouring addresses"};
    f.rule = "coalesce-lanes";
    verdict_.findings = {f};
    propose::Tried start;
    start.candidate = {identity(naive, {}), "", "naive", {"start", "the naive kernel", "", "", 1}, naive, {}, {}};
    start.status = verdict_.status;
    start.us = 273.2;
    start.findings = verdict_.findings;
    start.contracts = verdict_.contracts;
    start.resources = verdict_.resources;
    start.verdict = &verdict_;
    tried_ = {start};
    frontier_ = {start.candidate.id};
  }
  propose::Situation situation() const { return {task_, sheet_, plan_, tried_, 1, frontier_, {}}; }

  task::Task task_;
  hardware::DataSheet sheet_;
  Plan plan_;
  Verdict verdict_;
  std::vector<propose::Tried> tried_;
  std::vector<std::string> frontier_;
  PromptOptions options_;
};

TEST_F(Prompts, SystemIsAsRecorded) { expect_golden("system", *system_text(situation(), options_)); }

TEST_F(Prompts, RefineIsAsRecorded) { expect_golden("refine", *move_text(situation(), {MoveKind::refine, &tried_[0]}, options_)); }

TEST_F(Prompts, EachMoveIsAsRecorded) {
  std::string all;
  options_.from_gpu = "a100";
  for (const WantedMove& move : {WantedMove{MoveKind::explore, nullptr, nullptr, "one warp a row", "template:row_fused", true}, WantedMove{MoveKind::repair, &tried_[0]}, WantedMove{MoveKind::combine, &tried_[0], &tried_[0]},
                                 WantedMove{MoveKind::port, &tried_[0]}}) {
    options_.tokens = 1;   // what always stays
    const auto text = move_text(situation(), move, options_);
    ASSERT_TRUE(text) << to_string(text.error());
    all += *text + "\n---\n\n";
  }
  expect_golden("moves", all);
}

TEST_F(Prompts, ToolsAreMentionedWhereTheyAreOffered) {
  EXPECT_THAT(*system_text(situation(), options_), Not(HasSubstr("`finish`")));
  options_.tools = true;
  EXPECT_THAT(*system_text(situation(), options_), HasSubstr("`finish`"));
}

TEST_F(Prompts, KeepToTheirBudget) {
  for (const std::uint64_t tokens : {500u, 5000u}) {
    options_.tokens = tokens;
    std::vector<std::string> left_out;
    const auto text = move_text(situation(), {MoveKind::refine, &tried_[0]}, options_, &left_out);
    ASSERT_TRUE(text);
    EXPECT_LE(llm::estimated_tokens(*text), tokens + 10);   // the newlines between parts
    EXPECT_THAT(*text, HasSubstr("softmax_rows")) << "the kernel stays";
    EXPECT_EQ(left_out.empty(), tokens >= 5000) << tokens;
  }
}

TEST_F(Prompts, ContextIsCitedByFileAndLine) {
  options_.context = [](const std::string& query, std::size_t) {
    EXPECT_THAT(query, HasSubstr("softmax"));
    return std::vector<ContextPassage>{{"docs/guide.md", 12, 14, "Keep the row in registers.\nRead it once."}};
  };
  EXPECT_THAT(*move_text(situation(), {MoveKind::refine, &tried_[0]}, options_), HasSubstr("docs/guide.md:12-14"));
}

TEST_F(Prompts, BareFeedbackTellsNothingButWhetherItBuildsTheErrorAndTheTime) {
  options_.bare_feedback = true;
  tried_[0].candidate.proposer = "model:m";
  for (const MoveKind kind : {MoveKind::refine, MoveKind::repair, MoveKind::explore}) {
    const std::string text = *move_text(situation(), {kind, &tried_[0]}, options_);
    EXPECT_THAT(text, HasSubstr("compiles, right, largest absolute error 0, 273.2 us"));
    for (const char* told : {"sectors per request", "memory.coalescing", "at line", "coalesce-lanes", "L2 bandwidth", "registers", "8.00", "contract"}) EXPECT_THAT(text, Not(HasSubstr(told))) << text;
  }
}

TEST_F(Prompts, WhatWasScreenedOutComesWithWhatBoundsIt) {
  propose::Tried screened = tried_[0];
  screened.screened = true;
  screened.us = 400;
  tried_.push_back(screened);
  const std::string outcome = "not faster (400.0 us on sampled blocks";
  EXPECT_THAT(*move_text(situation(), {MoveKind::refine, &tried_[0]}, options_), HasSubstr(outcome + ": L2 bandwidth)"));
  options_.bare_feedback = true;
  EXPECT_THAT(*move_text(situation(), {MoveKind::refine, &tried_[0]}, options_), HasSubstr(outcome + ")"));
}

TEST_F(Prompts, AGoalThatIsNearlyMetIsToldFromTheTime) {
  plan_.sizes[0].target_us = 7.1;
  tried_[0].us = 7.129;
  EXPECT_THAT(*move_text(situation(), {MoveKind::refine, &tried_[0]}, options_), HasSubstr("it takes 7.129 us, the aim is 7.1 us"));
}

}  // namespace
}  // namespace kforge::model
