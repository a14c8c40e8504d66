// Templates that no example needs, on tasks of their own over several types, each with sizes that leave tails: rendered, built, emulated and
// judged by `kforge check`; and as the main job's winner. The default point is to meet every contract, another one those of correctness.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/paths.h"
#include "base/process.h"
#include "check_runner.h"
#include "hardware/data_sheet.h"
#include "propose/template_proposer.h"
#include "task/random.h"

namespace kforge::tests {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTemplate = "reduce_columns";
constexpr std::uint64_t kPoints = 2;   // of each task: the default and others, spread over the space

std::vector<std::string> column_tasks() {
  std::vector<std::string> out;
  for (const auto& file : fs::directory_iterator(source_folder() / "tests/templates/columns")) out.push_back(file.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}
fs::path task_file(const std::string& name) { return source_folder() / "tests/templates/columns" / (name + ".toml"); }

class Columns : public ::testing::TestWithParam<std::string> {};

TEST_P(Columns, AreAccepted) {
  const auto task = task::read_task(task_file(GetParam()).string());
  ASSERT_TRUE(task) << to_string(task.error());
  const auto sheet = hardware::find_sheet(task->gpu);
  ASSERT_TRUE(sheet);
  Plan plan;
  plan.guess.pattern = task->pattern;
  const auto folder = TemporaryDirectory::create("templates-test");
  ASSERT_TRUE(folder);
  bool applied_here = false;
  for (const propose::Applied& applied : propose::applied_templates(*task, *sheet, plan)) {
    if (applied.made.name != kTemplate) continue;
    applied_here = true;
    for (std::uint64_t i = 0; i < kPoints; ++i) {
      const std::size_t point = i == 0 ? propose::standard_point(applied) : task::CounterRandom(1).below(i, applied.space.size());
      const auto candidate = propose::candidate_at(applied, applied.space.values(point));
      ASSERT_TRUE(candidate) << to_string(candidate.error());
      const fs::path file = folder->path() / "candidate.cu";
      ASSERT_TRUE(write_file_atomic(file, candidate->source));
      const CheckRun run = check(task_file(GetParam()), file, i == 0 ? std::vector<std::string>{} : std::vector<std::string>{"--only", "correctness"});
      EXPECT_EQ(run.status, "accepted") << run.output << "\n" << candidate->source;
    }
  }
  EXPECT_TRUE(applied_here);
}

INSTANTIATE_TEST_SUITE_P(Templates, Columns, ::testing::ValuesIn(column_tasks()), [](const auto& info) { return info.param; });

TEST(Templates, AColumnReductionWinsTheMainJob) {
  const auto folder = TemporaryDirectory::create("templates-test");
  ASSERT_TRUE(folder);
  ProcessRequest request;
  request.arguments = {(executable_folder() / "kforge").string(), "optimize", task_file("column_spread").string(), "--candidates", "4", "--budget-seconds", "150", "--json"};
  request.working_directory = folder->path();
  request.limits.wall_seconds = 240;
  const auto result = run_process(request);
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->exit_status, 0) << result->err;
  const auto run = nlohmann::json::parse(result->out, nullptr, false);
  ASSERT_TRUE(run.is_object()) << result->err;
  std::string proposer;
  for (const auto& tried : run["tried"])
    if (tried["candidate"].value("id", "") == run.value("winner", "")) proposer = tried["candidate"].value("proposer", "");
  EXPECT_EQ(proposer, std::string("template:") + kTemplate);
}

}  // namespace
}  // namespace kforge::tests
