// What the kernels of a run's best candidate did, per source line, beside the run's record: the store keeps it; page, Markdown and JSON of a run have it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kforge/error.h"
#include "kforge/profile.h"
#include "kforge/run.h"

namespace kforge {

// Of the candidate that `best` names, at the largest measure size, as `profile` counts it. Empty when it was not kept. Arguments and errors: as load_run.
Expected<std::vector<KernelFigures>> load_figures(const std::string& folder, const std::string& id);

// The run's page with the figures beside the lines of the annotated source; its Markdown with a table of the lines that were counted; its JSON with the
// key "kernels" as kforge.profile/1 has it.
std::string to_html(const RunRecord& run, const std::vector<KernelFigures>& figures);
std::string to_markdown(const RunRecord& run, const std::vector<KernelFigures>& figures);
std::string to_json(const RunRecord& run, const std::vector<KernelFigures>& figures);
// Those of a run's JSON; empty where it has none. Errors: as read_run.
Expected<std::vector<KernelFigures>> read_figures(std::string_view json, const std::string& file);

}  // namespace kforge
