// What bounds a kernel, as far as the emulated GPU's counts tell: it chooses what ncu is asked for (gpu/counter_sets.h).
#pragma once

#include <optional>
#include <vector>

#include "evidence/profile.h"
#include "gpu/counter_sets.h"
#include "hardware/time_model.h"
#include "ptx/module.h"

namespace kforge::judge {

// Matrix instructions in the code are suspected first, as the time model does not count them; then shared memory where bank conflicts double its wavefronts;
// else the time model's longest term. `module` may be null. Nothing where the model has no term.
std::optional<gpu::Suspect> suspected(const hardware::ModelledTime& time, const std::vector<evidence::KernelProfile>& kernels, const ptx::Module* module);

}  // namespace kforge::judge
