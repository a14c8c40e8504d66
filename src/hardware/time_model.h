// How long a kernel takes on a GPU, modelled from what was counted while it ran on the emulated one and from a data sheet.
//
// The result is a model's, never a measurement: whoever shows it says `modelled`. Its use is to rank candidates, to say what binds a
// kernel and how far from the floor it is. Each term is the time that one resource alone would need; a real kernel overlaps them, not
// perfectly. docs/time-model.md gives the source of each formula, what the model does not see, and how it compares with a GPU.
//
//   issue    warp instructions over schedulers                      fp32, fp64, fp16, int, special, tensor, lsu    their pipes
//   shared   wavefronts, one a clock and SM                         l1       cycles of its data stage
//   l2       passes through its slices, or what the SMs in use pull  dram     bytes at the sustained rate, re-use by working set
//   atomics  passes through one line follow each other              latency  Little's law: what resident warps cannot hide
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/data_sheet.h"

namespace kforge::hardware {

// Counts of all launches of one kernel with one shape, together. Sampled runs are scaled to the whole grid (`scaled`).
struct KernelWork {
  double launches = 1;
  double blocks = 0;                 // of one launch
  double threads_per_block = 0;
  double shared_bytes_per_block = 0;
  int blocks_per_sm = 0;             // resident: occupancy(); 0: cannot run

  double warp_instructions = 0, thread_instructions = 0;
  double fp32_ops = 0, fp64_ops = 0, fp16_ops = 0, int_ops = 0, special_ops = 0;   // lanes; a multiply-add is two
  double tensor_ops = 0;             // multiply and add are two
  std::string tensor_type = "f16";
  // Warp level, loads, stores and atomics; sectors have 32 bytes. `store_`: those of stores and atomics.
  double global_requests = 0, store_requests = 0;
  double global_sectors = 0, store_sectors = 0;
  double global_sectors_ideal = 0;   // if their bytes were packed
  double partial_sectors = 0;        // of plain stores, covered in part
  double l1_cycles = 0;              // of L1's data stage
  double l1_miss = 1;                // share of the loaded sectors that L1 does not hold
  double load_bytes = 0, store_bytes = 0;   // distinct bytes of each request, summed
  double shared_requests = 0, shared_wavefronts = 0, shared_atomic_repeats = 0;
  double local_requests = 0;
  double atomic_passes = 0, hottest_line_passes = 0;   // of global atomics through sectors; through the line that has most
  double barriers = 0;               // warp level
  double loads_in_flight = 1;        // of one warp

  // Of all launches: bytes that nothing brought into L2 before, and bytes of results that are written back at some time.
  // Below 0: not known, every byte is taken to be touched once.
  double compulsory_read_bytes = -1, compulsory_write_bytes = -1;
};

// Counts times `factor` (grid blocks over blocks that ran): shape and resident blocks stay.
KernelWork scaled(KernelWork work, double factor);

struct TimeTerm {
  std::string_view name;   // "dram"
  double us = 0;           // this resource alone
  std::string_view words;  // "DRAM bandwidth"
};

struct ModelledTime {
  double us = 0;                  // all launches, launch overhead included
  std::vector<TimeTerm> terms;    // longest first, those of zero left out
  std::string bottleneck;         // one sentence: "DRAM bandwidth: 16.8 MB at 4.8 TB/s take 3.5 us; issue is next with 1.1 us"
  double dram_bytes = 0, l2_bytes = 0;   // estimated traffic
  double waves = 0;               // of resident blocks
  double term(std::string_view name) const;   // us; 0 when absent
};

ModelledTime model_time(const DataSheet& sheet, const KernelWork& work);

// The contracts' word (contracts.md, occupancy): the DRAM or L2 term of the observed counts exceeds the issue and pipe terms. The same terms,
// on what was counted alone: every sector goes to L2 at its peak rate, compulsory bytes to DRAM at its, all multiprocessors and lanes are busy.
bool memory_bound(const DataSheet& sheet, const KernelWork& work);

// Kernels that run one after the other: times and terms are added.
ModelledTime total(const std::vector<ModelledTime>& kernels);

}  // namespace kforge::hardware
