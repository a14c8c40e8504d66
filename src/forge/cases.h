// Winning moves of a run as cases of the knowledge base.
#pragma once

#include "base/error.h"
#include "kforge/run.h"
#include "store/store.h"

namespace kforge::forge {

inline constexpr double kWorthTelling = 1.1;   // time before over time after: a smaller gain teaches little

// Each step of the winner's line that was made from the one before it and gained so much.
Expected<void> keep_cases(store::Store& store, const RunRecord& run);

}  // namespace kforge::forge
