// Profiles as the public face shows them: by names in place of numbers, summed by the line that a finding would name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "evidence/profile.h"
#include "gpu/stalls.h"
#include "kforge/profile.h"

namespace kforge::forge {

// The busiest kernel first. Lines of the candidate's own file have its path as `candidate` says it.
std::vector<KernelFigures> figures_of(std::span<const evidence::KernelProfile> profiles, const std::string& candidate);

// Adds where warps waited (evidence/stall_reason.h) to the kernels of the same names, as ncu prints them, and to their lines; a kernel that was not counted
// gets figures of its own, with the source "ncu". All launches of a kernel together.
void add_stalls(std::vector<KernelFigures>& kernels, std::span<const gpu::KernelStalls> stalls, const std::string& candidate);

}  // namespace kforge::forge
