// Where the time of a run went, by stage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kforge {

enum class StageKind : std::uint8_t { compiler, emulation, other };

struct StageCost {
  std::string stage;             // "cicc", "emulate", "judge": a row of stage_kinds()
  double cpu_s = 0, wall_s = 0;  // summed over threads and processes; stages of several candidates overlap, so wall times may sum to more than the run's
  std::uint64_t times = 0;
};

// Of a stage that is not known, and of time that no stage accounts for ("rest"): other.
StageKind kind_of_stage(std::string_view stage);

// Processor seconds of all stages, and of those that are neither compiler nor emulation.
double cpu_seconds(const std::vector<StageCost>& costs);
double other_cpu_seconds(const std::vector<StageCost>& costs);

}  // namespace kforge
