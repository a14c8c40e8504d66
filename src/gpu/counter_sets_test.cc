// What ncu is asked for.
#include "gpu/counter_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace kforge::gpu {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(CounterSets, HoldWhatContractsNeedAndFewMore) {
  const auto contracts = ncu_metrics(std::nullopt);
  EXPECT_THAT(contracts, Contains("dram__bytes_read.sum"));
  EXPECT_THAT(contracts, Contains("smsp__issue_active.avg.pct_of_peak_sustained_active"));
  for (const CounterSet& set : counter_sets()) {
    EXPECT_EQ(counter_set(set.suspect).name, set.name);
    const auto metrics = ncu_metrics(set.suspect);
    EXPECT_EQ(std::set<std::string>(metrics.begin(), metrics.end()).size(), metrics.size()) << set.name << " asks for one twice";
    for (const std::string& metric : contracts) EXPECT_THAT(metrics, Contains(metric)) << set.name;
    EXPECT_LE(set.metrics.size(), 9u) << set.name;
  }
}

TEST(CounterSets, NameEachMetricInWords) {
  for (const CounterSet& set : counter_sets())
    for (const CounterHint& hint : set.metrics) {
      EXPECT_FALSE(hint.unit.empty() || hint.words.empty()) << hint.metric;
      EXPECT_EQ(find_counter(hint.metric)->words, hint.words) << hint.metric << " has two meanings";
    }
  EXPECT_EQ(find_counter("sm__nothing.sum"), nullptr);
}

TEST(CounterSets, DifferByWhatIsSuspected) {
  EXPECT_THAT(ncu_metrics(Suspect::memory), Contains("lts__t_sector_hit_rate.pct"));
  EXPECT_THAT(ncu_metrics(Suspect::compute), Not(Contains("lts__t_sector_hit_rate.pct")));
  EXPECT_THAT(ncu_metrics(Suspect::shared), Contains("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"));
  EXPECT_THAT(ncu_metrics(Suspect::tensor), Contains("sm__inst_executed_pipe_tensor.sum"));
}

}  // namespace
}  // namespace kforge::gpu
