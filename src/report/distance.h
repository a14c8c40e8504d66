// How far a run's winner is from the floor of physics, in words that say what the floor counts.
#pragma once

#include <string>

#include "report/figures.h"

namespace kforge::report {

// "1.49 times the floor of 3.5 us (bound by DRAM bandwidth; it counts cold reads alone, for the 2 MiB of results may stay in L2)"; "" where one of them is unknown.
std::string distance_text(const Standing& standing);

}  // namespace kforge::report
