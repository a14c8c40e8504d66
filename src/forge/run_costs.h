// What a run cost, over all processes that worked on it, and how the store keeps that.
#pragma once

#include <string>
#include <vector>

#include "base/costs.h"
#include "store/rows.h"

namespace kforge::forge {

class RunCosts {
 public:
  // What an interrupted run cost before is in its row.
  explicit RunCosts(const store::RunRow& row);

  CostLedger& ledger() { return ledger_; }
  // With the processor time that no stage accounts for, as the stage "rest".
  std::vector<StageCost> all() const;

 private:
  CostLedger ledger_;
  std::vector<StageCost> before_;
  double cpu_at_start_s_;
};

// The last part of a run's summary.
void set_costs(store::RunRow& row, const std::vector<StageCost>& costs);
std::vector<StageCost> costs_of(const store::RunRow& row);

}  // namespace kforge::forge
