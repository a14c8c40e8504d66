// Runs a launch to its end: see schedule.cc.
#pragma once

#include "emulator/launch.h"

namespace kforge::emulator {

struct ScheduleOptions {
  // 0: warps and blocks in order. Odd: the warps of a block, and the few blocks that are resident, take turns at random. Even: many blocks
  // are resident and the youngest runs first, so that a block that needs what an older one stores without waiting for it is seen.
  std::uint64_t seed = 0;
  bool cooperative = false;          // all blocks are resident
  std::uint64_t sampled_blocks = 0;
  std::uint32_t workers = 1;         // host threads that may run blocks: see team.h
};

void run_grid(Launch& launch, const ScheduleOptions& options);

}  // namespace kforge::emulator
