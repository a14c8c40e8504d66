// What the kernels of a run's best candidate did, per source line, beside the run's record: the store keeps it, and the page of a run shows it.
#pragma once

#include <string>
#include <vector>

#include "kforge/error.h"
#include "kforge/profile.h"
#include "kforge/run.h"

namespace kforge {

// Of the candidate that `best` names, at the largest measure size, as `profile` counts it. Empty when it was not kept. Arguments and errors: as load_run.
Expected<std::vector<KernelFigures>> load_figures(const std::string& folder, const std::string& id);

// The run's page with the figures beside the lines of the annotated source.
std::string to_html(const RunRecord& run, const std::vector<KernelFigures>& figures);

}  // namespace kforge
