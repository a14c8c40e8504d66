// A GPU's numbers, read from data/gpus/NAME.toml, each with its source. Everything that depends on the
// target (occupancy, roofline, device properties, limits of a launch) is computed from a sheet and from nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kforge::hardware {

struct DataSheet {
  std::string name;          // "h200"
  std::string product;       // "NVIDIA H200 SXM 141GB"
  std::string architecture;  // "Hopper"
  int compute_major = 0, compute_minor = 0;  // 9, 0
  int sm() const { return compute_major * 10 + compute_minor; }

  // Whole device.
  int multiprocessors = 0;
  double boost_mhz = 0, base_mhz = 0;
  std::uint64_t memory_bytes = 0;
  double dram_bytes_per_s = 0;
  double dram_sustained_bytes_per_s = 0;   // what a long read is seen to get; 0: nobody measured it
  double l2_bytes_per_s = 0;
  std::uint64_t l2_bytes = 0;
  std::string memory_type;   // "HBM3e"
  int memory_bus_bits = 0;             // 6144
  double memory_gbit_per_pin = 0;      // data rate, Gbit/s; bus times rate is the bandwidth

  // Per multiprocessor.
  int max_threads_per_sm = 0, max_warps_per_sm = 0, max_blocks_per_sm = 0;
  int registers_per_sm = 0, max_registers_per_block = 0, max_registers_per_thread = 255;
  int register_allocation_unit = 256;            // registers per warp are rounded up to this
  int warp_allocation_granularity = 4;
  int barriers_per_sm = 0;                       // hardware barriers; 0: they never limit residency (before 9.0)
  int shared_bytes_per_sm = 0;                   // largest shared-memory carve-out
  int shared_bytes_per_block = 49152;            // without opting in
  int shared_bytes_per_block_optin = 0;
  int shared_reserved_per_block = 0;             // by the system, per block
  int shared_allocation_unit = 0;
  int l1_bytes = 0;                              // unified L1 and shared
  int max_threads_per_block = 1024;
  int schedulers_per_sm = 4;
  int max_cluster_blocks = 1;

  // Lanes per clock and SM, dense. 0: the part has no such unit.
  double fp32_lanes = 0, fp64_lanes = 0, fp16_lanes = 0, int32_lanes = 0, special_lanes = 0, load_store_lanes = 0;
  // Dense tensor operations (multiply and add are two) per clock and SM, by input type: "f16", "bf16", "tf32", "f64", "i8", "e4m3".
  std::map<std::string, double> tensor_ops;

  // Latencies in cycles at the boost clock.
  double dram_latency = 0, l2_latency = 0, l1_latency = 0, shared_latency = 0, alu_latency = 0;

  // What the vendor quotes (dense, TFLOP/s), and the clock at which it quotes the tensor rate (parts quote that one
  // below their maximum boost). Evidence that the figures above are right; nothing is computed from them.
  double quoted_fp32_tflops = 0, quoted_f16_tensor_tflops = 0, tensor_mhz = 0;

  // Key of the file ("boost_mhz", "tensor_ops.f16") -> document that states it; every key of the file has one.
  std::map<std::string, std::string> sources;
};

// Names and aliases as the task file takes them ("a100" is "a100-80"), in any letter case; or the path of a sheet: a text
// with a '/' or that ends in ".toml". Errors: bad_input with the nearest known name; missing for "this" (gpu/this_sheet.h reads the GPU at hand).
Expected<DataSheet> find_sheet(std::string_view name);
// A sheet of one's own; format in docs/gpus.md. Errors: bad_input with file, line, key and the nearest known key, for
// anything that is not a complete, plausible and self-consistent sheet.
Expected<DataSheet> read_sheet(const std::string& path);
// The same from text; `file` is what errors name.
Expected<DataSheet> parse_sheet(std::string_view text, const std::string& file);
// The text that reads back as `sheet`.
std::string sheet_text(const DataSheet& sheet);
std::vector<std::string> sheet_names();          // canonical, in order of architecture
std::vector<std::string> sheet_aliases(std::string_view name);  // other names of a canonical one: {"a100"} for "a100-80"

// Whether nvcc 13.0 and this emulator can target the sheet: empty when they can, else the reason in one sentence.
std::string untargetable_reason(const DataSheet& sheet);

}  // namespace kforge::hardware
