// From counters per op to evidence::KernelProfile: per source position and in total.
#pragma once

#include "emulator/launch.h"

namespace kforge::emulator {

// Adds one launch to the profiles, merging with an earlier launch of the same kernel.
void add_to_profiles(std::vector<evidence::KernelProfile>& profiles, const Launch& launch, bool sampled);

}  // namespace kforge::emulator
