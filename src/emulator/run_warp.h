// A warp's turn on the executor: see run_warp.cc.
#pragma once

#include <cstdint>

#include "emulator/launch.h"

namespace kforge::emulator {

// Why a warp's turn ended. blocked: all lanes wait for other warps; spins: nothing changes until somebody else stores.
enum class Outcome : std::uint8_t { done, blocked, spins, quantum, failed };

// Runs a warp for at most about `quantum` warp instructions.
using WarpRunner = Outcome (*)(Warp& warp, std::uint64_t quantum);
WarpRunner warp_runner(Variant variant);

// What whole runs of segments mean for their ops: once at a launch's end.
void add_segment_runs(Launch& launch);

}  // namespace kforge::emulator
