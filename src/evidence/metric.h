// What a profile counts. One row a metric; its name is Nsight Compute's where Nsight Compute has it, whoever
// measured it (emulator, ncu, machine code), so that a contract reads profiles and never tools.
// Metrics of this project's own carry the prefix `kforge__`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kforge::evidence {

enum class Metric : std::uint8_t {
  inst_executed,                 // warp instructions
  thread_inst_executed,          // instructions times active, predicated-on lanes
  global_requests,               // global loads, stores, atomics and reductions (warp level)
  global_sectors,                // 32-byte sectors that the requests touch
  global_sectors_ideal,          // sectors of the distinct bytes packed from the request's lowest address
  global_sectors_aligned_ideal,  // distinct bytes / 32, rounded up, per request
  global_load_bytes,             // distinct bytes loaded, summed over requests
  global_store_bytes,
  global_store_requests,         // of global_requests: stores, atomics and reductions
  global_store_sectors,          // of global_sectors: those of stores, atomics and reductions
  global_partial_sectors,        // sectors of plain stores that the request does not cover whole
  global_l1_cycles,              // that the requests keep L1's data stage busy
  shared_requests,
  shared_wavefronts,
  shared_wavefronts_ideal,
  local_requests,
  atomic_requests,               // global and shared atomics and reductions (warp level)
  global_atomic_passes,          // of atomics: a sector takes one, and one more for each further lane that has a word of it already
  shared_atomic_repeats,         // passes beyond the wavefronts: lanes that update one word of shared memory come one after the other
  barriers,                      // block barriers executed (warp level)
  branches,
  divergent_branches,            // branches whose active lanes went both ways
  flops_f16, flops_f32, flops_f64,  // lane operations; a fused multiply-add is two
  int_ops,
  special_ops,                   // rcp, rsqrt, sqrt, sin, cos, ex2, lg2, tanh
  count_
};
inline constexpr std::size_t kMetricCount = static_cast<std::size_t>(Metric::count_);

struct MetricRow {
  Metric id;
  std::string_view name;  // Nsight Compute's, or kforge__*
  std::string_view unit;
  std::string_view hint;  // one line for people
};
const std::array<MetricRow, kMetricCount>& metric_table();
std::string_view name(Metric metric);
std::optional<Metric> find_metric(std::string_view name);

struct Counters {
  std::array<std::uint64_t, kMetricCount> values{};
  std::uint64_t& operator[](Metric m) { return values[static_cast<std::size_t>(m)]; }
  std::uint64_t operator[](Metric m) const { return values[static_cast<std::size_t>(m)]; }
  Counters& operator+=(const Counters& other);
  bool operator==(const Counters&) const = default;
};

}  // namespace kforge::evidence
