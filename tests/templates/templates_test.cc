// Templates that no example needs, on tasks of their own over several types, each with sizes that leave tails: rendered, built, emulated and
// judged by `kforge check`; and as the main job's winner. The default point is to meet every contract, another one those of correctness.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
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

constexpr std::uint64_t kPoints = 2;   // of each task: the default and others, spread over the space

struct Family {
  std::string folder, template_name;
};
const Family kFamilies[] = {{"columns", "reduce_columns"}, {"stencil", "stencil_tile"}, {"transpose", "transpose"}, {"transpose_narrow", "transpose_narrow"}, {"elementwise", "elementwise"}, {"scan", "scan_lookback"}, {"attention", "attention_mma"}, {"attention", "attention_wgmma"}, {"rows", "row_fused"}, {"gemm", "gemm_mma"}, {"gemm", "gemm_wgmma"}, {"gemm_fused", "gemm_wgmma"}, {"gemm_types", "gemm_wgmma"}, {"gemm_batched", "gemm_wgmma"}, {"gemm_batched", "gemm_mma"}};

struct FamilyTask {
  std::string template_name;
  fs::path file;
};
std::vector<FamilyTask> family_tasks() {
  std::vector<FamilyTask> out;
  for (const Family& family : kFamilies)
    for (const auto& file : fs::directory_iterator(source_folder() / "tests/templates" / family.folder))
      if (file.path().extension() == ".toml") out.push_back({family.template_name, file.path()});
  std::sort(out.begin(), out.end(), [](const FamilyTask& a, const FamilyTask& b) { return a.file < b.file; });
  return out;
}

class Tasks : public ::testing::TestWithParam<FamilyTask> {};

TEST_P(Tasks, AreAccepted) {
  const auto task = task::read_task(GetParam().file.string());
  ASSERT_TRUE(task) << to_string(task.error());
  const auto sheet = hardware::find_sheet(task->gpu);
  ASSERT_TRUE(sheet);
  Plan plan;
  plan.guess.pattern = task->pattern;
  const auto folder = TemporaryDirectory::create("templates-test");
  ASSERT_TRUE(folder);
  bool applied_here = false;
  for (const propose::Applied& applied : propose::applied_templates(*task, *sheet, plan)) {
    if (applied.made.name != GetParam().template_name) continue;
    applied_here = true;
    for (std::uint64_t i = 0; i < kPoints; ++i) {
      const std::size_t point = i == 0 ? propose::standard_point(applied) : task::CounterRandom(1).below(i, applied.space.size());
      const auto candidate = propose::candidate_at(applied, applied.space.values(point));
      ASSERT_TRUE(candidate) << to_string(candidate.error());
      const fs::path file = folder->path() / "candidate.cu";
      ASSERT_TRUE(write_file_atomic(file, candidate->source));
      const CheckRun run = check(GetParam().file, file, i == 0 ? std::vector<std::string>{} : std::vector<std::string>{"--only", "correctness"});
      EXPECT_EQ(run.status, "accepted") << run.output << "\n" << candidate->source;
    }
  }
  EXPECT_TRUE(applied_here);
}

INSTANTIATE_TEST_SUITE_P(Templates, Tasks, ::testing::ValuesIn(family_tasks()), [](const auto& info) { return info.param.file.stem().string() + "_" + info.param.template_name; });

// Points of gemm_wgmma whose ways through the source neither the default nor chance is sure to take.
struct WgmmaPoint {
  std::string name;
  propose::Values values;
  std::string task = "gemm/gemm_bf16_small";
};
class WgmmaPoints : public ::testing::TestWithParam<WgmmaPoint> {};

TEST_P(WgmmaPoints, AreRight) {
  const fs::path file = source_folder() / "tests/templates" / (GetParam().task + ".toml");
  const auto task = task::read_task(file.string());
  ASSERT_TRUE(task) << to_string(task.error());
  const auto folder = TemporaryDirectory::create("templates-test");
  ASSERT_TRUE(folder);
  bool applied_here = false;
  for (const propose::Applied& applied : propose::applied_templates(*task, *hardware::find_sheet(task->gpu), {})) {
    if (applied.made.name != "gemm_wgmma") continue;
    applied_here = true;
    propose::Values values = applied.space.values(propose::standard_point(applied));
    for (const auto& [name, value] : GetParam().values) values.at(name) = value;
    const auto candidate = propose::candidate_at(applied, values);
    ASSERT_TRUE(candidate) << to_string(candidate.error());
    ASSERT_TRUE(write_file_atomic(folder->path() / "candidate.cu", candidate->source));
    const CheckRun run = check(file, folder->path() / "candidate.cu", {"--only", "correctness"});
    EXPECT_EQ(run.status, "accepted") << run.output << "\n" << candidate->source;
  }
  EXPECT_TRUE(applied_here);
}

INSTANTIATE_TEST_SUITE_P(Templates, WgmmaPoints,
                         ::testing::Values(WgmmaPoint{"split", {{"consumers", 1}, {"tile_n", 64}, {"split", 16}}}, WgmmaPoint{"tall", {{"warpgroup_rows", 128}, {"tile_n", 192}, {"stages", 3}}},
                                           WgmmaPoint{"wide", {{"tile_n", 256}, {"split", 4}}}, WgmmaPoint{"three", {{"consumers", 3}, {"tile_n", 160}}},
                                           WgmmaPoint{"narrow", {{"consumers", 1}, {"tile_n", 32}, {"stages", 16}}}, WgmmaPoint{"down", {{"consumers", 1}, {"tile_n", 64}, {"cluster_down", 2}}},
                                           WgmmaPoint{"across", {{"warpgroup_rows", 128}, {"tile_n", 96}, {"stages", 2}, {"cluster_across", 2}}},
                                           WgmmaPoint{"in_turn", {{"tile_n", 32}, {"stages", 2}, {"in_turn", 1}}, "gemm_deep/gemm_bf16_turns"},
                                           WgmmaPoint{"in_turn_tall", {{"warpgroup_rows", 128}, {"tile_n", 128}, {"stages", 4}, {"in_turn", 1}}, "gemm_fused/gemm_bf16_bias_gelu"},
                                           WgmmaPoint{"in_turn_down", {{"tile_n", 32}, {"stages", 3}, {"cluster_down", 2}, {"in_turn", 1}}, "gemm_deep/gemm_bf16_turns"},
                                           WgmmaPoint{"s8_split", {{"consumers", 1}, {"tile_n", 64}, {"split", 16}}, "gemm_types/gemm_s8_small"},
                                           WgmmaPoint{"s8_down", {{"consumers", 1}, {"tile_n", 96}, {"cluster_down", 2}}, "gemm_types/gemm_s8_small"},
                                           WgmmaPoint{"tf32_across", {{"warpgroup_rows", 128}, {"tile_n", 64}, {"stages", 2}, {"cluster_across", 2}}, "gemm_types/gemm_tf32_along_small"},
                                           WgmmaPoint{"tf32_turned_split", {{"consumers", 1}, {"tile_n", 32}, {"split", 4}}, "gemm_types/gemm_tf32_small"},
                                           WgmmaPoint{"e4m3_tall", {{"warpgroup_rows", 128}, {"tile_n", 160}, {"stages", 2}}, "gemm_types/gemm_e4m3_small"}),
                         [](const auto& info) { return info.param.name; });

// Small tiles, so that each block of the grid has several, over the ends of rows, too. Their performance is not judged: how much of the traffic is waiting
// for other blocks, and with it which line is hot, depends on the schedule.
TEST(Templates, ScansWhoseBlocksStayAreRight) {
  const auto folder = TemporaryDirectory::create("templates-test");
  ASSERT_TRUE(folder);
  for (const FamilyTask& one : family_tasks()) {
    if (one.template_name != "scan_lookback") continue;
    const auto task = task::read_task(one.file.string());
    ASSERT_TRUE(task) << to_string(task.error());
    Plan plan;
    plan.guess.pattern = "scan";
    for (const propose::Applied& applied : propose::applied_templates(*task, *hardware::find_sheet(task->gpu), plan)) {
      if (applied.made.name != one.template_name) continue;
      for (const int lead : {1, 2}) {
        const propose::Values point{{"threads", 64}, {"vector", 2}, {"unroll", 2}, {"blocks_per_sm", 1}, {"stay", 1}, {"slots", 2 + lead}, {"lead", lead}, {"pause", 100}, {"look", 1}, {"stream", 0}};
        const auto candidate = propose::candidate_at(applied, point);
        ASSERT_TRUE(candidate) << to_string(candidate.error());
        const fs::path file = folder->path() / "candidate.cu";
        ASSERT_TRUE(write_file_atomic(file, candidate->source));
        const CheckRun run = check(one.file, file, {"--only", "correctness"});
        EXPECT_EQ(run.status, "accepted") << run.output;
        EXPECT_NE(candidate->source.find("kStay = 1 == 1"), std::string::npos) << candidate->source;
      }
    }
  }
}

// The proposer of the winner of `kforge optimize` on the task, from a given kernel where there is one.
std::string winning_proposer(const fs::path& task, const fs::path& from = {}) {
  const auto folder = TemporaryDirectory::create("templates-test");
  if (!folder) return to_string(folder.error());
  ProcessRequest request;
  request.arguments = {(executable_folder() / "kforge").string(), "optimize", task.string(), "--candidates", "4", "--budget-seconds", "600", "--fresh-seed", "2718281828459045", "--json"};
  if (!from.empty()) request.arguments.insert(request.arguments.end(), {"--from", from.string()});
  request.working_directory = folder->path();
  request.limits.wall_seconds = 590;
  const auto result = run_process(request);
  if (!result) return to_string(result.error());
  EXPECT_EQ(result->exit_status, 0) << result->err;
  const auto run = nlohmann::json::parse(result->out, nullptr, false);
  if (!run.is_object()) return result->err;
  for (const auto& tried : run["tried"])
    if (tried["candidate"].value("id", "") == run.value("winner", "")) return tried["candidate"].value("proposer", "");
  return "none";
}

TEST(Templates, AColumnReductionWinsTheMainJob) {
  EXPECT_EQ(winning_proposer(source_folder() / "tests/templates/columns/column_spread.toml"), "template:reduce_columns");
}

TEST(Templates, AGivenKernelIsBeatenByTheTemplateOfItsReference) {
  const fs::path folder = source_folder() / "tests/templates/from";
  EXPECT_EQ(winning_proposer(folder / "cube_transpose/task.toml", folder / "cube_transpose/slow.cu"), "template:transpose");
  EXPECT_EQ(winning_proposer(folder / "pool/task.toml", folder / "pool/slow.cu"), "template:stencil_tile");
}

TEST(Templates, AttentionWinsTheMainJob) {
  EXPECT_THAT(winning_proposer(source_folder() / "tests/templates/attention/attention_head.toml"), testing::StartsWith("template:attention_"));
}

}  // namespace
}  // namespace kforge::tests
