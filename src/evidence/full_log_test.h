// A log in which every field has a value of its own, for tests of the ways to write one down.
#pragma once

#include "evidence/launch_log.h"

namespace kforge::evidence {

inline SourcePosition position(std::uint32_t line) { return {{{"k.cu", line, 7, "inner"}, {"k.cu", line + 1, 0, ""}}}; }

// What is lost or swapped shows.
inline LaunchLog full_log() {
  LaunchLog log;
  log.ending = Ending::trap;
  log.ending_detail = "why";
  log.returned = -700;
  KernelProfile kernel;
  kernel.kernel = "_Z1kPf";
  kernel.launches = {{{1, 2, 3}, {4, 5, 6}, 7, 8}};
  kernel.launch_count = 9;
  for (std::size_t i = 0; i < kMetricCount; ++i) kernel.totals.values[i] = std::uint64_t{1} << (i + 32);
  LineProfile line;
  line.position = position(10);
  line.counters[Metric::shared_requests] = 11;
  line.global_bytes_per_lane = 12;
  line.global_contiguous = true;
  line.worst_global.active_mask = ~0u;
  line.worst_global.lane_addresses[31] = ~std::uint64_t{0};
  line.worst_shared = {1, 2, {}, {3, 4, 5}, 6, 7, 8};
  line.stores = {{"y", 13, 14, 15, {~std::uint64_t{0}, 16}}};
  kernel.lines = {line, {}};
  kernel.independent_loads = 0.1;
  kernel.loads_in_flight = 2.5;
  kernel.load_reuse = {16, 17, {18}};
  kernel.hottest_line_passes = 19;
  kernel.sampled = true;
  kernel.source = Source::ptx;
  log.kernels = {kernel};
  log.violations = {{"safety.bounds", "kind", true, "k", position(20), position(30), "message \"quoted\"\n", "m", "r", {1, 2, 3}, {4, 5, 6}, 7}};
  log.calls = {{"cudaMalloc", "workspace", false, 2, "detail", 3}};
  log.coverage = {{"y", 1, 2, 3, 4}};
  log.changed_inputs = {"x"};
  log.unproven = {{"safety.races", "the shadow was used up"}};
  log.thread_instructions = ~std::uint64_t{0};
  log.warpgroup_tiles = 77;
  log.sampled_blocks = 5;
  log.output = "printed\n";
  return log;
}

}  // namespace kforge::evidence
