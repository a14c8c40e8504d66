// The time model (hardware/time_model.h) over what a trial counted: the verdict's time where no GPU measured one, and the one
// definition of "memory-bound" that contracts ask for.
#pragma once

#include <optional>

#include "hardware/time_model.h"
#include "judge/performance.h"
#include "kforge/verdict.h"

namespace kforge::judge {

// Fills in the bytes of the task's tensors at these sizes.
void add_tensor_bytes(PerformanceInput& input, const task::Sizes& sizes);

// What one kernel did at one measure size, all its launches, scaled to whole grids where only sampled blocks ran. Nothing when ptxas
// reported no resources for it or it was never launched.
std::optional<hardware::KernelWork> kernel_work(const PerformanceInput& input, const evidence::KernelProfile& kernel);

// The time of one measure size: its kernels one after the other, in the order of their first launches. What the first of them read of the inputs
// is in L2 for the others. Nothing when some kernel's work is not known, or none ran.
std::optional<hardware::ModelledTime> modelled_time(const PerformanceInput& input);

// The verdict's time of several measure sizes: their sum, marked "modelled". Nothing when any is missing.
std::optional<TimeReport> time_report(const std::vector<std::optional<hardware::ModelledTime>>& sizes);

}  // namespace kforge::judge
