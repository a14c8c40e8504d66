// What holds the attention kernels together, taken away piece by piece: each of these mutants is rejected, by a contract that names the fault.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/files.h"
#include "check_runner.h"
#include "hardware/data_sheet.h"
#include "propose/template_proposer.h"

namespace kforge::tests {
namespace {

namespace fs = std::filesystem;

struct Mutant {
  const char* name;
  const char *from, *to;   // the first place after `after`
  const char* after;
  std::vector<std::string> contracts;   // one of them fails
  const char* task = "attention_head";
  const char* template_name = "attention_mma";
};
constexpr const char* kNumbers = "numerics";
const Mutant kMutants[] = {
    {"BarrierBeforeTheQueries", "__syncthreads();", "", "kStages - 1) : \"memory\"", {"safety.races", "safety.uninitialised", "safety.async"}},
    {"BarrierOfAStep", "__syncthreads();", "", "for (int step = 0; step < steps", {"safety.races", "safety.uninitialised", "safety.async"}},
    {"WaitOfAStep", "asm volatile(\"cp.async.wait_group %0;\" ::\"n\"(kStages - 2) : \"memory\");", "", "for (int step = 0; step < steps", {"safety.async", "safety.races", "safety.uninitialised"}},
    {"WarpBarrierBeforeTheOutputIsRead", "__syncwarp();", "", "narrowed(sum[i][n][2 * half] * inverse", {"safety.races"}},
    {"RowsBehindTheEndAreRead", "const bool inside = at_row < rows && at_column < columns;", "const bool inside = true;", "", {"safety.bounds"}},
    {"RowsBehindTheEndAreWritten", "if (first_query + row >= query_count) continue;", "", "", {"safety.bounds"}},
    {"KeysBehindTheEndHaveWeight", "column >= left ||", "", "", {kNumbers}, "attention_cross"},   // without a diagonal before them
    {"KeysBehindTheDiagonalHaveWeight", "|| (kCausal && column > own + i * 16 + e / 2 * 8)", "", "", {kNumbers}},
    {"SumsStartAnywhere", "sum[kRows][kHead / 8][4] = {}", "sum[kRows][kHead / 8][4]", "", {"safety.uninitialised", kNumbers, "build"}},
    {"WeightsStartAnywhere", ", weight[i][half] = 0;", ";", "", {"safety.uninitialised", kNumbers, "build"}},
    {"SumsAreNotScaledDown", "sum[i][n][2 * half] *= kept, sum[i][n][2 * half + 1] *= kept;", "(void)kept;", "", {kNumbers}},
    {"WeightsAreNotScaledDown", "weight[i][half] * kept + added", "weight[i][half] + added", "", {kNumbers}},
    {"OneLanesWeightsAreTheRows", "1 / over_row(weight[i][half], true)", "1 / weight[i][half]", "", {kNumbers}},
    {"WgmmaQueriesAreAwaited", "wait_for(query_full + 8 * query.stage, query.phase);", "", "float kept[2];", {"safety.async", "safety.races", "safety.uninitialised", kNumbers}, "attention_head", "attention_wgmma"},
    {"WgmmaKeysAreAwaited", "wait_for(key_full + 8 * key.stage, key.phase);", "", "for (int step = 1; step < own_steps", {"safety.async", "safety.races", "safety.uninitialised", kNumbers}, "attention_head", "attention_wgmma"},
    {"WgmmaValuesAreAwaited", "wait_for(value_full + 8 * value.stage, value.phase);", "", "round_weights();\n    }", {"safety.async", "safety.races", kNumbers}, "attention_cross", "attention_wgmma"},
    {"WgmmaFreeBuffersAreAwaited", "wait_for(key_empty + 8 * ring.stage, ring.phase ^ 1);", "", "for (int step = 0; step < steps", {"safety.barriers", "run.hang", "safety.async", "safety.races"}, "attention_cross", "attention_wgmma"},
    {"WgmmaScoresAreAwaited", "wait_products<1>();", "", "", {"safety.async", kNumbers}, "attention_head", "attention_wgmma"},
    {"WgmmaSumsAreAwaited", "wait_products<0>();", "", "weigh(step, kept);", {"safety.async", kNumbers}, "attention_head", "attention_wgmma"},
    {"WgmmaSumsAreNotScaledDown", "sum[i] *= kept[i / 2 % 2];", "(void)kept;", "", {kNumbers}, "attention_head", "attention_wgmma"},
    {"WgmmaLastValuesAreLeftOut", "multiply_values();", "", "round_weights();\n    }", {kNumbers}, "attention_head", "attention_wgmma"},
    {"WgmmaRowsBehindTheEndAreWritten", "if (first_query + own * 64 + row >= query_count) continue;", "", "", {"safety.bounds"}, "attention_head", "attention_wgmma"},
    {"TheLastStepIsLeftOut", "(seen + kTileK - 1) / kTileK", "(seen + kTileK - 1) / kTileK - 1", "", {kNumbers, "safety.uninitialised"}},
};


class AttentionMutants : public testing::TestWithParam<Mutant> {};

TEST_P(AttentionMutants, AreRejected) {
  const Mutant& mutant = GetParam();
  const fs::path file = source_folder() / "tests/templates/attention" / (std::string(mutant.task) + ".toml");
  const auto task = task::read_task(file.string());
  ASSERT_TRUE(task) << to_string(task.error());
  Plan plan;
  plan.guess.pattern = "attention";
  const auto applied = propose::applied_templates(*task, *hardware::find_sheet(task->gpu), plan);
  const auto one = std::find_if(applied.begin(), applied.end(), [&](const propose::Applied& a) { return a.made.name == mutant.template_name; });
  ASSERT_NE(one, applied.end());
  // Several steps and all buffers even at the judge's small sizes.
  const bool by_warps = one->made.name == "attention_mma";
  const auto candidate = by_warps ? propose::candidate_at(*one, {{"tile_q", 32}, {"tile_k", 32}, {"warp_m", 16}, {"stages", 2}})
                                  : propose::candidate_at(*one, {{"groups", 2}, {"tile_k", 64}, {"stages", 2}, {"query_buffers", 1}, {"turns", 1}, {"section", 32}, {"blocks_per_sm", 1}});
  ASSERT_TRUE(candidate) << to_string(candidate.error());
  std::string source = candidate->source;
  const std::size_t start = source.find(mutant.after), at = source.find(mutant.from, start);
  ASSERT_NE(start, std::string::npos);
  ASSERT_NE(at, std::string::npos);
  source.replace(at, std::string_view(mutant.from).size(), mutant.to);
  const auto folder = TemporaryDirectory::create("attention-mutants");
  ASSERT_TRUE(folder);
  const fs::path changed = folder->path() / "mutant.cu";
  ASSERT_TRUE(write_file_atomic(changed, source));
  const CheckRun run = check(file, changed, {"--only", "correctness"});
  EXPECT_EQ(run.exit_code, 1) << run.output;
  EXPECT_TRUE(std::any_of(run.failed.begin(), run.failed.end(), [&](const std::string& contract) {
    return std::find(mutant.contracts.begin(), mutant.contracts.end(), contract) != mutant.contracts.end();
  })) << run.output;
}
INSTANTIATE_TEST_SUITE_P(Template, AttentionMutants, testing::ValuesIn(kMutants), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace kforge::tests
