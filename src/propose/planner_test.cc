// Plans: figures of known computations, the order of steps, and the file that a person edits.
#include "propose/planner.h"

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace kforge::propose {
namespace {

constexpr std::string_view kGemm = R"toml(
[task]
name = "product"
[semantics]
formula = "c = a @ b"
[[semantics.tensor]]
name = "a"
dtype = "f32"
shape = ["m", "k"]
role = "in"
[[semantics.tensor]]
name = "b"
dtype = "f32"
shape = ["k", "n"]
role = "in"
[[semantics.tensor]]
name = "c"
dtype = "f32"
shape = ["m", "n"]
role = "out"
[sizes]
measure = [{m = 4096, n = 2048, k = 1024}]
[interface]
function = "product"
)toml";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

task::Task task_of(const std::string& text) {
  auto task = task::parse_task(text, "task.toml");
  EXPECT_TRUE(task) << (task ? "" : to_string(task.error()));
  return task ? *task : task::Task{};
}

hardware::DataSheet sheet(const char* name) { return *hardware::find_sheet(name); }

Plan plan_of(const std::string& text, const char* gpu = "h200") {
  auto plan = make_plan(task_of(text), sheet(gpu));
  EXPECT_TRUE(plan) << (plan ? "" : to_string(plan.error()));
  return plan ? *plan : Plan{};
}

TEST(Planner, AMatrixProductIsBoundByArithmetic) {
  const Plan plan = plan_of(std::string(kGemm));
  EXPECT_EQ(plan.guess.pattern, "gemm");
  ASSERT_EQ(plan.sizes.size(), 1u);
  const PlanSize& size = plan.sizes[0];
  EXPECT_EQ(size.operations, 2.0 * 4096 * 2048 * 1024);
  EXPECT_EQ(size.read_bytes, 4.0 * 1024 * (4096 + 2048));
  EXPECT_EQ(size.write_bytes, 4.0 * 4096 * 2048);
  EXPECT_EQ(size.bound, "fp32");
  EXPECT_NEAR(size.floor_us, size.operations / 66.9e12 * 1e6, 2);
  EXPECT_GT(size.target_us, size.floor_us);
}

TEST(Planner, HalvesGoToTensorCores) {
  std::string text(kGemm);
  for (int i = 0; i < 3; ++i) text = replaced(text, "\"f32\"", "\"f16\"");
  const Plan plan = plan_of(text);
  EXPECT_LT(plan.sizes[0].floor_us, 40);
  const auto says = [&](std::string_view word) { return std::any_of(plan.notes.begin(), plan.notes.end(), [&](const std::string& n) { return n.find(word) != std::string::npos; }); };
  EXPECT_TRUE(says("on h200 (sm_90): wgmma"));
  EXPECT_TRUE(says("not on h200 (sm_90), from sm_100 on: tcgen05"));
}

TEST(Planner, NotesFollowTheTarget) {
  std::string text(kGemm);
  for (int i = 0; i < 3; ++i) text = replaced(text, "\"f32\"", "\"bf16\"");
  const Plan ampere = plan_of(text, "a100");
  const auto says = [&](std::string_view word) { return std::any_of(ampere.notes.begin(), ampere.notes.end(), [&](const std::string& n) { return n.find(word) != std::string::npos; }); };
  EXPECT_TRUE(says("only on sm_90: wgmma"));
  EXPECT_TRUE(says("on a100-80 (sm_80): cp.async"));
}

TEST(Planner, AReferenceThatTakesTheSizesInAnotherOrderIsNoted) {
  const auto folder = TemporaryDirectory::create("planner-test");
  ASSERT_TRUE(folder);
  task::Task task;
  task.function = "scale";
  task.reference = (folder->path() / "reference.cpp").string();
  task.tensors.resize(1);
  task.tensors[0].name = "x";
  task.tensors[0].shape = {"rows", "cols"};
  const auto sheet = hardware::find_sheet("h200");
  ASSERT_TRUE(sheet && write_file_atomic(task.reference, "extern \"C\" void scale(float* x, int cols, int rows) { for (int i = 0; i < rows * cols; ++i) x[i] *= 2; }\n"));
  EXPECT_THAT(plan_notes(task, *sheet, {}).front(), ::testing::HasSubstr("takes the sizes as cols, rows, and they are passed as rows, cols"));
  ASSERT_TRUE(write_file_atomic(task.reference, "extern \"C\" void scale(float* x, int rows, int cols) { for (int i = 0; i < rows * cols; ++i) x[i] *= 2; }\n"));
  EXPECT_THAT(plan_notes(task, *sheet, {}).front(), ::testing::HasSubstr("share in the whole"));
}

TEST(Planner, AFormulaThatRoundsAwayItsLogarithmIsNoted) {
  task::Task task;
  const auto sheet = hardware::find_sheet("h200");
  ASSERT_TRUE(sheet);
  task.formula = "y = log(1 + exp(x))";
  EXPECT_THAT(plan_notes(task, *sheet, {}).front(), ::testing::HasSubstr("log1p"));
  task.formula = "y = log1p(exp(x))";
  EXPECT_THAT(plan_notes(task, *sheet, {}).front(), ::testing::Not(::testing::HasSubstr("log1p")));
}

TEST(Planner, TheShareLimitsTheProgram) {
  EXPECT_NE(plan_of(std::string(kGemm)).notes.at(0).find("not known"), std::string::npos);
  const Plan plan = plan_of(std::string(kGemm) + "[program]\ntotal_us = 100000\nshare = 0.41\n");
  EXPECT_NE(plan.notes.at(0).find("1.69 times"), std::string::npos) << plan.notes.at(0);
}

TEST(Planner, TheGoalSetsTheTarget) {
  EXPECT_EQ(plan_of(std::string(kGemm) + "[goal]\nus = 123\n").sizes[0].target_us, 123);
  const Plan plan = plan_of(std::string(kGemm) + "[goal]\nroofline = 0.5\n");
  EXPECT_NEAR(plan.sizes[0].target_us, 2 * plan.sizes[0].floor_us, 1e-9);
}

TEST(Planner, TinyWorkIsBoundByTheLaunch) {
  const Plan plan = plan_of(replaced(std::string(kGemm), "m = 4096, n = 2048, k = 1024", "m = 16, n = 16, k = 16"));
  EXPECT_EQ(plan.sizes[0].bound, "latency");
  EXPECT_GE(plan.sizes[0].target_us, 1);
}

TEST(Planner, StepsAreForThePatternAndNameTheirRule) {
  const Plan plan = plan_of(std::string(kGemm));
  ASSERT_FALSE(plan.steps.empty());
  const auto at = [&](std::string_view id) { return std::find_if(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& s) { return s.id == id; }) - plan.steps.begin(); };
  const auto none = static_cast<std::ptrdiff_t>(plan.steps.size());
  EXPECT_LT(at("transform:shared-product"), at("transform:launch-bounds"));
  EXPECT_LT(at("transform:launch-bounds"), none);
  EXPECT_EQ(at("transform:private-histogram"), none);
  for (const PlanStep& step : plan.steps) {
    const auto file = std::filesystem::path(KFORGE_SOURCE_DIR) / "data/knowledge" / (step.rule + ".md");
    EXPECT_TRUE(step.id.starts_with("template:") || std::filesystem::is_regular_file(file)) << step.id << " names the rule " << step.rule;
    EXPECT_TRUE(step.id.starts_with("template:") || !step.rule.empty()) << step.id;
    EXPECT_FALSE(step.why.empty()) << step.id;
    EXPECT_GE(step.expected_gain, 1) << step.id;
  }
}

Plan awkward() {
  Plan plan;
  plan.task = "a \"task\"";
  plan.gpu = "h200";
  plan.guess = {"softmax", 0.1 + 0.2, "tab\there, back\\slash, line\nbreak, \x01, ü"};
  plan.sizes = {{{{"rows", 3}, {"cols", 1LL << 40}}, 1e22, 16777216, 0.1, "dram", 1.0 / 3, 2}, {{}, 0, 0, 0, "", 0, 0}};
  plan.steps = {{"template:softmax_row", "t", "w", "one-pass", 2.5, false, {{"threads", {"128", "256"}}, {"odd key", {"a\"b"}}}}, {"strategy:x", "", "", "", 1, true, {}}};
  plan.notes = {"one", "two \"quotes\""};
  return plan;
}

TEST(PlanFile, WhatIsWrittenIsReadBack) {
  for (const Plan& plan : {awkward(), plan_of(std::string(kGemm)), Plan{"t", "g", {}, {}, {}, {}}}) {
    const std::string text = plan_to_toml(plan);
    const auto back = parse_plan(text, "plan.toml");
    ASSERT_TRUE(back) << to_string(back.error()) << "\n" << text;
    EXPECT_EQ(plan_to_toml(*back), text);
  }
}

struct Mistake { std::string_view from, to; int line, column; std::string_view says, hint; };

TEST(PlanFile, MistakesAreNamedWithTheirPlace) {
  const std::string good =
      "task = \"t\"\n"
      "gpu = \"h200\"\n"
      "[pattern]\n"
      "name = \"softmax\"\n"
      "[[size]]\n"
      "sizes = {n = 4}\n"
      "target_us = 1.5\n"
      "[[step]]\n"
      "id = \"template:x\"\n"
      "enabled = true\n"
      "[[step]]\n"
      "id = \"template:y\"\n";
  ASSERT_TRUE(parse_plan(good, "p.toml"));
  const Mistake kRows[] = {
      {"softmax", "sofmax", 4, 8, "unknown pattern 'sofmax'", "softmax"},
      {"enabled", "enbled", 10, 1, "unknown key 'enbled' in [[step]]", "enabled"},
      {"enabled = true", "enabled = 1", 10, 11, "is expected", ""},
      {"target_us = 1.5", "target_us = -1", 7, 13, "is negative", ""},
      {"target_us = 1.5\n", "", 5, 1, "missing key 'target_us'", "docs/plan.md"},
      {"template:y", "template:x", 11, 1, "is there twice", ""},
      {"template:y", "tmplate:y", 12, 6, "is no step", "template:NAME"},
      {"n = 4", "n = 0", 6, 14, "a size is at least 1", ""},
      {"gpu = \"h200\"\n", "", 1, 1, "missing key 'gpu'", "docs/plan.md"},
      {"enabled = true", "parameters = {threads = []}", 10, 25, "no value is left", ""},
  };
  for (const Mistake& row : kRows) {
    const auto plan = parse_plan(replaced(good, row.from, row.to), "p.toml");
    ASSERT_FALSE(plan) << row.to;
    EXPECT_NE(plan.error().message.find(row.says), std::string::npos) << plan.error().message;
    EXPECT_NE(plan.error().hint.find(row.hint), std::string::npos) << plan.error().hint;
    EXPECT_EQ(plan.error().where.line, row.line) << row.to << ": " << plan.error().message;
    EXPECT_EQ(plan.error().where.column, row.column) << row.to << ": " << plan.error().message;
  }
}

}  // namespace
}  // namespace kforge::propose
