// The performance contracts, judged from one measure size's profile: coalescing, alignment, vector width, banks, occupancy,
// spills, divergence. A contract with nothing to measure is passed, measured "none" (contracts.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "build/builder.h"
#include "evidence/profile.h"
#include "hardware/data_sheet.h"
#include "judge/findings.h"
#include "kforge/verdict.h"
#include "task/task.h"

namespace kforge::judge {

struct PerformanceInput {
  const task::Task* task = nullptr;
  const hardware::DataSheet* sheet = nullptr;
  const std::vector<build::KernelReport>* reports = nullptr;
  const std::vector<evidence::KernelProfile>* kernels = nullptr;
  std::string candidate;
  double compulsory_bytes = 0;     // inputs read once and outputs written once, of this case
  double read_bytes = 0, written_bytes = 0;   // of them: inputs, and outputs; what is both counts in both
  std::uint64_t sampled_blocks = 0;
};

// One contract's figure at one measure size.
struct Measurement {
  std::string contract;
  Status status = Status::passed;
  Level level = Level::required;   // after the conditional rules, before the task's override
  double value = 0;                // larger is worse when `larger_is_worse`
  bool larger_is_worse = true;
  bool measured = false;           // false: nothing to measure
  std::string text;                // "1.00", "64 of 64 warps (limited by registers)"
  std::string required;
  std::string evidence;
};

// All performance contracts except those that need a GPU or machine code (memory.reuse, compute.issue), which come back `unknown`.
// Findings of failed ones are added to `findings`.
std::vector<Measurement> judge_performance(const PerformanceInput& input, FindingSet& findings);

std::vector<ResourceReport> resources(const PerformanceInput& input);

// The threshold that the task sets for the contract, else the table's.
double threshold(const task::Task& task, std::string_view contract);

}  // namespace kforge::judge
