// Blocks of one launch on several host cores.
//
// CUDA promises nothing of the order of blocks, so that only kernels whose blocks do not talk to each other give one result in
// whatever order they run; these go to a team. A team never reports anything. Its workers run clean blocks: private observers,
// profiles and race cells, one view of memory. Whatever is not clean (a finding, an undefined byte, a fault, bytes that two
// workers touched of which one wrote) makes the caller put memory back as it was and run the same blocks one after the other, which then says
// what is wrong, the same words in the same order on every machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "emulator/launch.h"

namespace kforge::emulator {

inline constexpr std::uint32_t kMostWorkers = 16;

// Shared by the workers.
struct Team {
  std::atomic<std::uint64_t> instructions{0};   // thread-instructions, the caller's included
  std::atomic<bool> stop{false};                // somebody met a fault, a finding or the limit
};

// Whether the blocks of the launch can neither wait for nor see one another, as far as its instructions tell.
bool has_independent_blocks(const Launch& launch);

enum class TeamOutcome : std::uint8_t { clean, limit, unclean };
// `run_blocks(launch, worker, workers)` runs the worker's share of the blocks. clean, limit: counters and profiles are in `launch`.
// unclean: memory is as before.
TeamOutcome run_team(Launch& launch, std::uint32_t workers, const std::function<void(Launch&, std::uint32_t, std::uint32_t)>& run_blocks);

// Bytes that a team would have to save before it starts.
std::uint64_t bytes_to_save(const Launch& launch);

}  // namespace kforge::emulator
