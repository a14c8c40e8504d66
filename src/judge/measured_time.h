// The verdict's time where a GPU measured one, and the floor under it.
#pragma once

#include <vector>

#include "judge/performance.h"
#include "kforge/verdict.h"
#include "trial/trial.h"

namespace kforge::judge {

// Sums over the measure sizes; spread, interval and clocks are those of the size that takes longest. REQUIRES: the candidate (name "") has a
// time at every size.
TimeReport measured_time(const std::vector<trial::Timing>& times, const TimeConditions& where);

// Floor of physics of one measure size, in us: what the candidate was seen to read, at most all inputs once, from DRAM, and that and its
// outputs through L2. 0 where its kernels' counts are not known.
double seen_floor_us(const PerformanceInput& input, double input_bytes);

}  // namespace kforge::judge
