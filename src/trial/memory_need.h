// How much memory cases need, before they are reached: what does not fit is an error of this machine, not an end in the middle that looks like
// the candidate's.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "task/task.h"
#include "trial/references.h"

namespace kforge::trial {

enum class RunKind : std::uint8_t { whole, sampled, on_gpu };   // sampled: inputs only, a few blocks; on_gpu: tensors lie on the device

struct MemoryNeed {
  std::uint64_t candidate = 0;   // of its process: tensors and their shadows, the arena, the poison of an output
  std::uint64_t machine = 0;     // of all processes together: also inputs and references of the calls that are prepared ahead, and the reference's process
};

// Of the first of `jobs`, with those after it that are prepared meanwhile. Sums of buffers that are written in full; what programs need besides is
// little. Race cells are counted at 3 bytes a byte, up to their limit (emulator/race.h).
Expected<MemoryNeed> memory_need(const task::Task& task, std::span<const Job> jobs, RunKind kind);

// What the machine can give now: proc(5), meminfo, MemAvailable; the limits of our own process and control group where they are lower.
std::uint64_t available_memory();

// Errors: missing, naming the first job that needs more than `available`, or than a candidate's process may take (0: no limit), with both figures.
Expected<void> check_memory(const task::Task& task, std::span<const Job> jobs, RunKind kind, std::uint64_t process_limit, std::uint64_t available = available_memory());

}  // namespace kforge::trial
