// The search on recorded spaces of real kernels: what docs/search.md promises.
#include <gtest/gtest.h>

#include "base/files.h"
#include "propose/recorded_space_test.h"

namespace kforge::propose {
namespace {

struct Recorded { const char *file, *task, *made; };

class RecordedSpaces : public ::testing::TestWithParam<Recorded> {
 protected:
  static std::string path(const std::string& name) { return std::string(KFORGE_SOURCE_DIR) + "/" + name; }
};

TEST_P(RecordedSpaces, AreWithinThreePercentOfTheBestAfterFivePercent) {
  const Recorded& row = GetParam();
  const auto text = read_file(path(std::string("bench/search/") + row.file));
  const auto task = task::read_task(path(row.task));
  ASSERT_TRUE(text && task);
  const RecordedSpace recorded = read_recorded_space(*text);
  ASSERT_GE(recorded.space.size(), 60u);
  const auto prior = prior_of(recorded, *task, row.made);
  ASSERT_EQ(prior.size(), recorded.space.size()) << "the template's parameters changed: record its space again (bench/search/README.md)";
  const std::size_t budget = recorded.space.size() / 20;
  std::vector<double> excess;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) excess.push_back(replay(recorded, prior, seed, budget).excess);
  std::sort(excess.begin(), excess.end());
  EXPECT_LE((excess[9] + excess[10]) / 2, 0.03) << recorded.space.size() << " points, " << budget << " evaluations, best " << recorded.best;
}

INSTANTIATE_TEST_SUITE_P(All, RecordedSpaces, ::testing::Values(Recorded{"sgemm.csv", "examples/sgemm/task.toml", "gemm_simt"}, Recorded{"softmax.csv", "examples/softmax/task.toml", "row_fused"},
                                                                 Recorded{"reduce_all.csv", "examples/reduction/task.toml", "reduce_all"}, Recorded{"transpose.csv", "examples/transpose/task.toml", "transpose"},
                                                                 Recorded{"reduce_columns.csv", "tests/templates/columns/column_odd.toml", "reduce_columns"}),
                         [](const auto& row) { return std::string(row.param.made); });

}  // namespace
}  // namespace kforge::propose
