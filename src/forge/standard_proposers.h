// Who proposes in a run of `optimize`, in the order of the first turn.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "forge/round.h"

namespace kforge::forge {

// Those of `names` (template, transform, sweep); all where it is empty. "model" is known and not made here (model_run.h). Errors: bad_input with the nearest known name.
Expected<Proposers> standard_proposers(const std::vector<std::string>& names);

// Whether `names` asks for this one.
bool asks_for(const std::vector<std::string>& names, std::string_view name);

}  // namespace kforge::forge
