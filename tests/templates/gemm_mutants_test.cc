// What holds a product of blocks in clusters together, and what products of other types than f16 and bf16 take besides, taken away piece by piece: each of these
// mutants is rejected, by a contract that names the fault. What may be
// left out without a fault is fence.mbarrier_init: the arrival at the cluster's barrier releases, and hands the mbarriers on with all else.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/files.h"
#include "check_runner.h"
#include "hardware/data_sheet.h"
#include "propose/template_proposer.h"

namespace kforge::tests {
namespace {

namespace fs = std::filesystem;

struct GemmMutant {
  const char* name;
  const char *from, *to;   // the first place after `after`
  const char* after;
  std::vector<std::string> contracts;   // one of them fails
};
const std::vector<std::string> kAnyOrder = {"safety.async", "safety.races", "safety.uninitialised", "safety.barriers"};
const GemmMutant kMutants[] = {
    {"TheClusterMeetsBehindInitialisation", "if constexpr (kSize > 1) meet_cluster();\n  else __syncthreads();", "__syncthreads();", "", {"safety.races", "safety.uninitialised"}},
    {"TheClusterMeetsAtTheEnd", "if constexpr (kSize > 1) meet_cluster();", "", "A block stays until", {"safety.races", "safety.barriers"}},
    {"FullBuffersAreAwaited", "wait_for(full + 8 * stage, phase);", "", "", kAnyOrder},
    {"FreeBuffersAreAwaited", "wait_for(empty + 8 * stage, phase ^ 1);", "", "", kAnyOrder},
    {"BuffersOfOthersAreAwaited", "4 * kSharers * kSize", "4 * kSharers", "init_barrier(empty", kAnyOrder},
    {"BuffersGoBackToAll", "if (lane < kSize) arrive_at(empty + 8 * of_stage, lane);", "if (lane == 0) arrive(empty + 8 * of_stage);", "", {"run.hang", "safety.barriers"}},
    {"BytesAreExpected", "expect(barrier, kStageBytes);", "arrive(barrier);", "", kAnyOrder},
    {"ProductsAreAwaitedBeforeABufferGoesBack", "asm volatile(\"wgmma.wait_group.sync.aligned 1;\" ::: \"memory\");", "", "", kAnyOrder},
    {"SumsAreAwaited", "asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");", "", "", kAnyOrder},
    {"SumsAreFenced", "asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");", "", "", kAnyOrder},
    {"ResultsAreHandedOver", "asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");", "", "stmatrix.sync", {"safety.async"}},
    {"WarpsMeetBeforeResultsLeave", "meet(own);", "", "stmatrix.sync", kAnyOrder},
    {"ResultsThatLeaveAreAwaited", "asm volatile(\"cp.async.bulk.wait_group 0;\" ::: \"memory\");", "{}", "", {"safety.async"}},
};

struct TypeMutant {
  GemmMutant change;
  const char* task;
};
const TypeMutant kTypeMutants[] = {
    {{"TurnedOperandsAreSwizzled", "(chunk ^ (r % 8)) * 16", "chunk * 16", "!kAlong && kTurns", {"numerics"}}, "gemm_tf32_small"},
    {{"TurnedOperandsEndWithTheDepth", "column < across && row + e < depth", "column < across", "!kAlong && kTurns", {"safety.bounds", "safety.uninitialised"}}, "gemm_tf32_small"},
    {{"FilledBuffersAreHandedOver", "asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");", "", "fill_tile<kRightAlong", {"safety.async"}}, "gemm_tf32_small"},
    {{"WholeUnitsAreTakenOfWholeRowsAlone", "(kAlong ? depth : across) % kPer == 0 && ", "", "", {"safety.bounds"}}, "gemm_s8_small"},
    {{"TheDepthIsThatOfOneByte", "d < 4;", "d < 2;", "", {"numerics"}}, "gemm_s8_small"},
    {{"SumsOfIntegersAreOfTheirSign", "s32.s8.s8", "s32.u8.s8", "", {"numerics"}}, "gemm_s8_small"},
    {{"TheFormatOfFloatsIsTheirs", "f32.e4m3.e4m3", "f32.e5m2.e4m3", "", {"numerics"}}, "gemm_e4m3_small"},
    {{"FloatsAreNotLeftOut", "d < 4;", "d < 3;", "", {"numerics"}}, "gemm_e5m2_small"},
};

// Of two warpgroups that take tiles in turn.
const GemmMutant kTurnMutants[] = {
    {"TurnsAreAwaited", "await_turn(own);", "{}", "if constexpr (kInTurn)", {"numerics", "safety.async", "safety.races", "safety.barriers", "safety.uninitialised"}},
    {"TurnsAreGiven", "give_turn((own + 1) % kConsumers);", "{}", "", {"run.hang", "safety.barriers"}},
    {"PhasesOfOthersTilesPass", "phase ^= stage / kStages % 2, ", "", "if constexpr (kInTurn)", {"run.hang", "numerics", "safety.async", "safety.races", "safety.uninitialised", "safety.barriers"}},
    {"BuffersComeBackFromOne", "4 * kSharers * kSize", "4 * kConsumers * kSize", "", {"run.hang", "safety.barriers"}},
};

// The template's instance with small tiles and `values`, changed, is rejected.
void expect_rejected(const GemmMutant& mutant, const fs::path& file, const propose::Values& given) {
  const auto task = task::read_task(file.string());
  ASSERT_TRUE(task) << to_string(task.error());
  const auto applied = propose::applied_templates(*task, *hardware::find_sheet(task->gpu), {});
  const auto one = std::find_if(applied.begin(), applied.end(), [](const propose::Applied& a) { return a.made.name == "gemm_wgmma"; });
  ASSERT_NE(one, applied.end());
  propose::Values values = one->space.values(propose::standard_point(*one));
  for (const auto& [name, value] : given) values.at(name) = value;
  const auto candidate = propose::candidate_at(*one, values);
  ASSERT_TRUE(candidate) << to_string(candidate.error());
  std::string source = candidate->source;
  const std::size_t start = source.find(mutant.after), at = source.find(mutant.from, start);
  ASSERT_NE(start, std::string::npos);
  ASSERT_NE(at, std::string::npos);
  source.replace(at, std::string_view(mutant.from).size(), mutant.to);
  const auto folder = TemporaryDirectory::create("gemm-mutants");
  ASSERT_TRUE(folder);
  const fs::path changed = folder->path() / "mutant.cu";
  ASSERT_TRUE(write_file_atomic(changed, source));
  const CheckRun run = check(file, changed, {"--only", "correctness"});
  EXPECT_EQ(run.exit_code, 1) << run.output;
  EXPECT_TRUE(std::any_of(run.failed.begin(), run.failed.end(), [&](const std::string& contract) {
    return std::find(mutant.contracts.begin(), mutant.contracts.end(), contract) != mutant.contracts.end();
  })) << run.output;
}

class GemmMutants : public testing::TestWithParam<GemmMutant> {};

TEST_P(GemmMutants, AreRejected) {
  // More steps than buffers.
  expect_rejected(GetParam(), source_folder() / "tests/templates/gemm_deep/gemm_bf16_deep.toml",
                  {{"consumers", 1}, {"warpgroup_rows", 64}, {"tile_n", 64}, {"stages", 2}, {"group", 1}, {"cluster_down", 2}, {"cluster_across", 1}, {"split", 1}});
}
INSTANTIATE_TEST_SUITE_P(Template, GemmMutants, testing::ValuesIn(kMutants), [](const auto& info) { return info.param.name; });

class GemmTurnMutants : public testing::TestWithParam<GemmMutant> {};

TEST_P(GemmTurnMutants, AreRejected) {
  expect_rejected(GetParam(), source_folder() / "tests/templates/gemm_deep/gemm_bf16_turns.toml",
                  {{"consumers", 2}, {"warpgroup_rows", 64}, {"tile_n", 32}, {"stages", 2}, {"in_turn", 1}});
}
INSTANTIATE_TEST_SUITE_P(Template, GemmTurnMutants, testing::ValuesIn(kTurnMutants), [](const auto& info) { return info.param.name; });

class GemmTypeMutants : public testing::TestWithParam<TypeMutant> {};

TEST_P(GemmTypeMutants, AreRejected) {
  expect_rejected(GetParam().change, source_folder() / "tests/templates/gemm_types" / (std::string(GetParam().task) + ".toml"),
                  {{"consumers", 1}, {"warpgroup_rows", 64}, {"tile_n", 64}, {"stages", 2}});
}
INSTANTIATE_TEST_SUITE_P(Template, GemmTypeMutants, testing::ValuesIn(kTypeMutants), [](const auto& info) { return info.param.change.name; });

}  // namespace
}  // namespace kforge::tests
