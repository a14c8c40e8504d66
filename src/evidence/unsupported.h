// What the emulated device could not execute, though a GPU can: no fault of the candidate, and nothing is known of what follows.
#pragma once

#include <string>

#include "evidence/launch_log.h"

namespace kforge::evidence {

// The first such instruction, in words; empty when there was none.
std::string unsupported_instruction(const LaunchLog& log);

}  // namespace kforge::evidence
