// The end of a launch in which nothing moves any more: who waits where, and for whom or for which memory.
#pragma once

#include <deque>
#include <memory>

#include "emulator/launch.h"

namespace kforge::emulator {

// Reports `run.hang` and ends the launch. `blocks`: those that are resident.
void declare_hang(Launch& launch, const std::deque<std::unique_ptr<Block>>& blocks);

}  // namespace kforge::emulator
