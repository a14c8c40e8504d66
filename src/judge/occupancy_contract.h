// The occupancy contract: enough resident warps to cover latency (contracts.md).
#pragma once

#include "judge/performance.h"

namespace kforge::judge {

Measurement judge_occupancy(const PerformanceInput& input, FindingSet& findings);

// Whether the DRAM or L2 term of the kernel's observed counts exceeds its issue and pipe terms.
bool memory_bound(const PerformanceInput& input, const evidence::KernelProfile& kernel);

}  // namespace kforge::judge
