// Runs a launch to its end: see schedule.cc.
#pragma once

#include "emulator/launch.h"

namespace kforge::emulator {

struct ScheduleOptions {
  std::uint64_t seed = 0;            // 0: warps and blocks in order
  bool cooperative = false;          // all blocks are resident
  std::uint64_t sampled_blocks = 0;
  std::uint32_t workers = 1;         // host threads that may run blocks: see team.h
};

void run_grid(Launch& launch, const ScheduleOptions& options);

}  // namespace kforge::emulator
