// The plain kernels of formulas, built by nvcc and run on the emulated GPU, are right by every correctness contract.
#include <filesystem>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/paths.h"
#include "base/process.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;

ProcessResult kforge(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), (executable_folder() / "kforge").string());
  const auto result = run_process({.arguments = arguments, .environment = {}, .working_directory = {}, .stdin_text = {}, .merge_output = false, .limits = {}});
  EXPECT_TRUE(result) << to_string(result.error());
  return result ? *result : ProcessResult{};
}

class FormulaTask : public testing::TestWithParam<std::string> {};

TEST_P(FormulaTask, ThePlainKernelIsRight) {
  const fs::path task = fs::path(KFORGE_SOURCE_DIR) / "tests/plan/formulas" / (GetParam() + ".toml");
  const ProcessResult result = kforge({"check", task.string(), "--only", "correctness", "--fresh-seed", "2718281828459045"});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
}

INSTANTIATE_TEST_SUITE_P(Formulas, FormulaTask, testing::Values("fused_gelu", "row_stats", "gated_product", "shifted_rows", "prefix"),
                         [](const testing::TestParamInfo<std::string>& info) { return info.param; });

const std::string kSoftmax = std::string(KFORGE_SOURCE_DIR) + "/examples/softmax/task.toml";

TEST(PlanCommand, ShowsPatternSizesAndSteps) {
  const ProcessResult result = kforge({"plan", kSoftmax});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  for (const char* word : {"softmax (100% sure: the task says so)", "rows=4096", "floor", "target", "Steps, in the order of trying", "Notes"})
    EXPECT_NE(result.out.find(word), std::string::npos) << word << "\n" << result.out;
}

TEST(PlanCommand, WritesAPlanToEdit) {
  const auto folder = TemporaryDirectory::create("plan");
  ASSERT_TRUE(folder);
  const fs::path path = folder->path() / "plan.toml";
  const ProcessResult result = kforge({"plan", kSoftmax, "--gpu", "a100", "-o", path.string()});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(result.out, "");
  const auto text = read_file(path);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("gpu = \"a100-80\""), std::string::npos) << *text;
}

TEST(PlanCommand, JsonIsOneDocument) {
  const ProcessResult result = kforge({"plan", kSoftmax, "--json"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("{\n  \"schema\": \"kforge.plan/1\"")) << result.out.substr(0, 80);
}

TEST(PlanCommand, WrongCallsAreNamed) {
  EXPECT_EQ(kforge({"plan", "no/such/task.toml"}).exit_status, 2);
  const ProcessResult result = kforge({"plan", kSoftmax, "--gpu", "h20"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_NE(result.err.find("h200"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace kforge
