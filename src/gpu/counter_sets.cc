#include "gpu/counter_sets.h"

#include <algorithm>
#include <iterator>

namespace kforge::gpu {
namespace {

// Names and meanings: Nsight Compute's documentation, "Metrics Reference", and the section files that it comes with.
constexpr CounterHint kContracts[] = {{"gpu__time_duration.sum", "ns", "of the kernel, under the profiler"},
                                      {"dram__bytes_read.sum", "byte", "read from DRAM"},
                                      {"sm__cycles_active.avg", "cycle", "in which a multiprocessor had warps"},
                                      {"smsp__issue_active.avg.pct_of_peak_sustained_active", "%", "of the cycles issued an instruction"}};

// Of several sets.
constexpr CounterHint kDramRate{"dram__throughput.avg.pct_of_peak_sustained_elapsed", "%", "of the DRAM's peak rate"};
constexpr CounterHint kL2Bytes{"lts__t_bytes.sum", "byte", "through the L2 cache"};
constexpr CounterHint kWaitsForMemory{"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "warp", "waited for memory at each issue"};
constexpr CounterHint kWaitsForPipe{"smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio", "warp", "waited for a pipe at each issue"};
constexpr CounterHint kWaitsFixed{"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", "warp", "waited for a fixed latency at each issue"};
constexpr CounterHint kRegisters{"launch__registers_per_thread", "register", "a thread"};
constexpr CounterHint kWaitsForShared{"smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio", "warp", "waited for shared memory or special functions at each issue"};
constexpr CounterHint kWaitsAtBarrier{"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "warp", "waited at a barrier at each issue"};
constexpr CounterHint kBankConflicts{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "wavefront", "of shared memory, by bank conflicts"};

constexpr CounterHint kMemory[] = {kDramRate,
                                   {"dram__bytes_write.sum", "byte", "written to DRAM"},
                                   kL2Bytes,
                                   {"lts__t_sector_hit_rate.pct", "%", "of the L2 cache's sectors were there"},
                                   {"l1tex__t_sector_hit_rate.pct", "%", "of the L1 cache's sectors were there"},
                                   kWaitsForMemory,
                                   {"smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio", "warp", "waited for the queue of global memory at each issue"}};
constexpr CounterHint kCompute[] = {{"smsp__inst_executed.sum", "inst", "of warps"},
                                    {"sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active", "%", "of the integer and logic pipe's peak"},
                                    {"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", "%", "of the multiply-add pipe's peak"},
                                    {"sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", "%", "of the special functions' peak"},
                                    {"smsp__thread_inst_executed_per_inst_executed.ratio", "lane", "active of 32"},
                                    kWaitsForPipe,
                                    kWaitsFixed,
                                    {"smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio", "warp", "were ready and not chosen at each issue"}};
constexpr CounterHint kLatency[] = {{"sm__warps_active.avg.pct_of_peak_sustained_active", "%", "of the warps that a multiprocessor can hold"},
                                    kRegisters,
                                    {"launch__occupancy_limit_registers", "block", "a multiprocessor has registers for"},
                                    {"launch__occupancy_limit_shared_mem", "block", "a multiprocessor has shared memory for"},
                                    {"launch__waves_per_multiprocessor", "wave", "of resident blocks"},
                                    kWaitsForMemory,
                                    kWaitsForShared,
                                    kWaitsAtBarrier,
                                    kWaitsFixed};
constexpr CounterHint kShared[] = {{"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "wavefront", "of shared memory, shuffles included"},
                                   kBankConflicts,
                                   {"l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", "%", "of the L1's data stage"},
                                   kWaitsForShared,
                                   {"smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio", "warp", "waited for the queue of shared memory at each issue"},
                                   kWaitsAtBarrier};
constexpr CounterHint kTensor[] = {{"sm__inst_executed_pipe_tensor.sum", "inst", "of the matrix units"},
                                   {"sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", "%", "of the matrix units' peak of instructions"},
                                   kDramRate,
                                   kL2Bytes,
                                   kBankConflicts,
                                   kRegisters,
                                   kWaitsForMemory,
                                   kWaitsAtBarrier,
                                   kWaitsForPipe};

constexpr CounterSet kSets[] = {{Suspect::memory, "memory", "memory traffic", kMemory},
                                {Suspect::compute, "compute", "arithmetic and issue", kCompute},
                                {Suspect::latency, "latency", "latencies that too few warps hide", kLatency},
                                {Suspect::shared, "shared", "shared memory and its banks", kShared},
                                {Suspect::tensor, "tensor", "matrix units", kTensor}};

const CounterHint* find_in(std::span<const CounterHint> hints, std::string_view metric) {
  const auto found = std::find_if(hints.begin(), hints.end(), [&](const CounterHint& hint) { return hint.metric == metric; });
  return found == hints.end() ? nullptr : &*found;
}

}  // namespace

std::span<const CounterSet> counter_sets() { return kSets; }

const CounterSet& counter_set(Suspect suspect) {
  return *std::find_if(std::begin(kSets), std::end(kSets), [&](const CounterSet& set) { return set.suspect == suspect; });
}

std::span<const CounterHint> contract_counters() { return kContracts; }

const CounterHint* find_counter(std::string_view metric) {
  if (const CounterHint* found = find_in(kContracts, metric)) return found;
  for (const CounterSet& set : kSets)
    if (const CounterHint* found = find_in(set.metrics, metric)) return found;
  return nullptr;
}

std::vector<std::string> ncu_metrics(std::optional<Suspect> suspect) {
  std::vector<std::string> out;
  for (const CounterHint& hint : kContracts) out.emplace_back(hint.metric);
  if (!suspect) return out;
  for (const CounterHint& hint : counter_set(*suspect).metrics) out.emplace_back(hint.metric);
  return out;
}

}  // namespace kforge::gpu
