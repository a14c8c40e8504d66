// From counters per op to evidence::KernelProfile: per source position and in total.
#pragma once

#include "emulator/launch.h"

namespace kforge::emulator {

// Which bytes a line stored is of use where another line stores to the same tensor: all other maps are left out.
void drop_maps_of_single_lines(std::vector<evidence::KernelProfile>& profiles);
// Adds one launch to the profiles, merging with an earlier launch of the same kernel.
void add_to_profiles(std::vector<evidence::KernelProfile>& profiles, const Launch& launch, bool sampled);

}  // namespace kforge::emulator
