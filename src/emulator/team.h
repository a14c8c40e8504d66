// Blocks of one launch on several host cores.
//
// CUDA promises nothing of the order of blocks, so that only kernels whose blocks do not talk to each other give one result in
// whatever order they run; these go to a team. A team never reports anything. Its workers run clean blocks: private observers,
// profiles and race cells, one view of memory. Whatever is not clean (a finding, an undefined byte, a fault, bytes that two
// workers touched of which one wrote) makes the caller put memory back as it was and run the same blocks one after the other, which then says
// what is wrong, the same words in the same order on every machine.
//
// Saving memory costs more than it is worth for short kernels over much of it. Where nothing but faults is looked for, such launches run without:
// a finding of a worker is the launch's own, and of several blocks with a fault it is the team's order which is named.
//
// Atomics on integers whose result nobody reads give one sum in whatever order they come; where nothing observes, a team takes them one request
// at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "emulator/launch.h"

namespace kforge::emulator {

inline constexpr std::uint32_t kMostWorkers = 16;

// Shared by the workers.
struct Team {
  std::atomic<std::uint64_t> instructions{0};   // thread-instructions, the caller's included
  std::atomic<bool> stop{false};                // somebody met a fault, a finding or the limit
  bool keeps_memory = true;                     // and puts it back after a finding; else only a fault stops it
  std::mutex atomics;                           // held for one request
};

// Whether the blocks of the launch can neither wait for nor see one another, as far as its instructions tell.
bool has_independent_blocks(const Launch& launch);

enum class TeamOutcome : std::uint8_t { clean, limit, unclean, failed };
// `run_blocks(launch, worker, workers)` runs the worker's share of the blocks. clean, limit, failed: counters, profiles and findings are in
// `launch`. unclean (only where memory is kept): memory is as before. REQUIRES: keeps_memory, or no observers but those of faults.
TeamOutcome run_team(Launch& launch, std::uint32_t workers, bool keeps_memory, const std::function<void(Launch&, std::uint32_t, std::uint32_t)>& run_blocks);

// Bytes that a team would have to save before it starts.
std::uint64_t bytes_to_save(const Launch& launch);

}  // namespace kforge::emulator
