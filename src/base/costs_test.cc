#include "base/costs.h"

#include <gtest/gtest.h>

#include <thread>

namespace kforge {
namespace {

void burn(double seconds) {
  const double until = process_cpu_seconds() + seconds;
  while (process_cpu_seconds() < until) {}
}

StageCost stage(const CostLedger& ledger, std::string_view name) {
  for (const StageCost& cost : ledger.stages())
    if (cost.stage == name) return cost;
  return {};
}

TEST(Costs, ATimerInsideAnotherTakesItsTimeAway) {
  CostLedger ledger;
  {
    const StageTimer outer(&ledger, "outer");
    burn(0.02);
    const StageTimer unnoted(nullptr, "nobody's");
    const StageTimer inner(&ledger, "inner");
    burn(0.1);
  }
  EXPECT_GE(stage(ledger, "inner").cpu_s, 0.09);
  EXPECT_GE(stage(ledger, "inner").wall_s, stage(ledger, "inner").cpu_s * 0.99);
  EXPECT_LT(stage(ledger, "outer").cpu_s, 0.09);
  EXPECT_EQ(stage(ledger, "outer").times, 1u);
}

TEST(Costs, AThreadsTimeIsItsOwn) {
  CostLedger ledger;
  {
    const StageTimer waits(&ledger, "waits");
    std::thread([&] {
      const StageTimer works(&ledger, "works");
      burn(0.1);
    }).join();
  }
  EXPECT_GE(stage(ledger, "works").cpu_s, 0.09);
  EXPECT_LT(stage(ledger, "waits").cpu_s, 0.05);
  EXPECT_GE(stage(ledger, "waits").wall_s, 0.09);
}

TEST(Costs, WhatIsNeitherCompilerNorEmulationIsOther) {
  const std::vector<StageCost> costs = {{"cicc", 1, 0, 1}, {"emulate", 2, 0, 1}, {"judge", 4, 0, 1}, {"rest", 8, 0, 1}, {"a word of another version", 16, 0, 1}};
  EXPECT_EQ(cpu_seconds(costs), 31);
  EXPECT_EQ(other_cpu_seconds(costs), 28);
}

}  // namespace
}  // namespace kforge
