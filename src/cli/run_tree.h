// The moves of a run as a tree, for people.
#pragma once

#include <string>

#include "kforge/run.h"

namespace kforge::cli {

// A line a candidate: time, gain over its parent beside what was promised, verdict, the move; children below their parent, in order.
std::string tree_text(const RunRecord& run);

}  // namespace kforge::cli
