// Profiles as the public face shows them: by names in place of numbers, summed by the line that a finding would name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "evidence/profile.h"
#include "kforge/profile.h"

namespace kforge::forge {

// The busiest kernel first. Lines of the candidate's own file have its path as `candidate` says it.
std::vector<KernelFigures> figures_of(std::span<const evidence::KernelProfile> profiles, const std::string& candidate);

}  // namespace kforge::forge
