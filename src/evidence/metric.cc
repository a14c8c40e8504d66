#include "evidence/metric.h"

namespace kforge::evidence {

const std::array<MetricRow, kMetricCount>& metric_table() {
  static constexpr std::array<MetricRow, kMetricCount> kTable{{
      {Metric::inst_executed, "smsp__inst_executed.sum", "inst", "warp instructions executed"},
      {Metric::thread_inst_executed, "smsp__thread_inst_executed.sum", "inst", "instructions times active lanes"},
      {Metric::global_requests, "l1tex__t_requests_pipe_lsu_mem_global.sum", "request", "global memory requests of warps"},
      {Metric::global_sectors, "memory_l2_theoretical_sectors_global", "sector", "32-byte sectors touched by global requests"},
      {Metric::global_sectors_ideal, "memory_l2_theoretical_sectors_global_ideal", "sector", "sectors if each request's bytes were packed"},
      {Metric::global_sectors_aligned_ideal, "kforge__global_sectors_aligned_ideal", "sector", "distinct bytes over 32, rounded up, per request"},
      {Metric::global_load_bytes, "kforge__global_load_bytes", "byte", "distinct bytes of global loads"},
      {Metric::global_store_bytes, "kforge__global_store_bytes", "byte", "distinct bytes of global stores"},
      {Metric::global_store_requests, "kforge__global_store_requests", "request", "global stores and atomics of warps"},
      {Metric::global_store_sectors, "kforge__global_store_sectors", "sector", "sectors touched by global stores and atomics"},
      {Metric::global_partial_sectors, "kforge__global_partial_sectors", "sector", "sectors that a store's request covers in part"},
      {Metric::global_l1_cycles, "kforge__global_l1_cycles", "cycle", "cycles of L1's data stage for global requests"},
      {Metric::shared_requests, "kforge__shared_requests", "request", "shared memory requests of warps"},
      {Metric::shared_wavefronts, "memory_l1_wavefronts_shared", "wavefront", "passes through the shared memory banks"},
      {Metric::shared_wavefronts_ideal, "memory_l1_wavefronts_shared_ideal", "wavefront", "passes without any bank conflict"},
      {Metric::local_requests, "smsp__inst_executed_op_local.sum", "inst", "local memory instructions"},
      {Metric::atomic_requests, "kforge__atomic_requests", "request", "atomic and reduction requests of warps"},
      {Metric::global_atomic_passes, "kforge__global_atomic_passes", "pass", "passes of global atomics through the sectors that they update"},
      {Metric::shared_atomic_repeats, "kforge__shared_atomic_repeats", "pass", "passes of shared atomics because lanes update one word"},
      {Metric::barriers, "kforge__barriers", "inst", "block barriers executed by warps"},
      {Metric::branches, "smsp__sass_branch_targets.sum", "inst", "branches executed by warps"},
      {Metric::divergent_branches, "smsp__sass_branch_targets_threads_divergent.sum", "inst", "branches taken both ways inside one warp"},
      {Metric::flops_f16, "kforge__flops_f16", "op", "half precision operations of lanes"},
      {Metric::flops_f32, "kforge__flops_f32", "op", "single precision operations of lanes"},
      {Metric::flops_f64, "kforge__flops_f64", "op", "double precision operations of lanes"},
      {Metric::int_ops, "kforge__int_ops", "op", "integer operations of lanes"},
      {Metric::special_ops, "kforge__special_ops", "op", "special function operations of lanes"},
  }};
  return kTable;
}

std::string_view name(Metric metric) { return metric_table()[static_cast<std::size_t>(metric)].name; }

std::optional<Metric> find_metric(std::string_view name) {
  for (const MetricRow& row : metric_table())
    if (row.name == name) return row.id;
  return std::nullopt;
}

Counters& Counters::operator+=(const Counters& other) {
  for (std::size_t i = 0; i < kMetricCount; ++i) values[i] += other.values[i];
  return *this;
}

}  // namespace kforge::evidence
