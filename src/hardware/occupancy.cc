#include "hardware/occupancy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kforge::hardware {
namespace {

constexpr int kWarp = 32;
constexpr std::int64_t kUnlimited = std::numeric_limits<int>::max();

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return unit > 0 ? (value + unit - 1) / unit * unit : value; }

std::int64_t warps_per_block(const KernelResources& r) { return round_up(r.threads_per_block, kWarp) / kWarp; }

std::int64_t limit_of_warps(const DataSheet& s, const KernelResources& r) {
  if (r.threads_per_block <= 0 || r.threads_per_block > s.max_threads_per_block) return 0;
  return (s.max_threads_per_sm / kWarp) / warps_per_block(r);
}

// Registers are given to warps in units, out of one register file per scheduler. The launch check of the hardware assumes
// that the block's warps fill all schedulers evenly, hence the second rounding.
std::int64_t limit_of_registers(const DataSheet& s, const KernelResources& r) {
  if (r.registers_per_thread < 0 || r.registers_per_thread > s.max_registers_per_thread) return 0;
  if (r.registers_per_thread == 0 || r.threads_per_block <= 0) return kUnlimited;
  std::int64_t per_warp = round_up(std::int64_t{r.registers_per_thread} * kWarp, s.register_allocation_unit);
  int files = std::max(1, s.warp_allocation_granularity);
  if (per_warp * round_up(warps_per_block(r), files) > s.max_registers_per_block) return 0;
  std::int64_t warps = s.registers_per_sm / files / per_warp * files;
  return warps / warps_per_block(r);
}

std::int64_t limit_of_shared(const DataSheet& s, const KernelResources& r) {
  if (r.static_shared_bytes < 0 || r.dynamic_shared_bytes < 0) return 0;
  std::int64_t used = std::int64_t{r.static_shared_bytes} + r.dynamic_shared_bytes;
  if (used > s.shared_bytes_per_block_optin) return 0;
  std::int64_t allocated = round_up(used + s.shared_reserved_per_block, s.shared_allocation_unit);
  return allocated == 0 ? kUnlimited : s.shared_bytes_per_sm / allocated;
}

std::int64_t limit_of_blocks(const DataSheet& s, const KernelResources&) { return s.max_blocks_per_sm; }

std::int64_t limit_of_barriers(const DataSheet& s, const KernelResources& r) {
  if (r.barriers < 0) return 0;
  return r.barriers == 0 || s.barriers_per_sm == 0 ? kUnlimited : s.barriers_per_sm / r.barriers;
}

struct Limit {
  Limiter limiter;
  std::string_view name;
  std::int64_t (*blocks)(const DataSheet&, const KernelResources&);
};
constexpr std::array kLimits{
    Limit{Limiter::warps, "warps", limit_of_warps},    Limit{Limiter::registers, "registers", limit_of_registers},
    Limit{Limiter::shared, "shared", limit_of_shared}, Limit{Limiter::blocks, "blocks", limit_of_blocks},
    Limit{Limiter::barriers, "barriers", limit_of_barriers},
};

}  // namespace

std::string_view name(Limiter limiter) {
  for (const Limit& limit : kLimits)
    if (limit.limiter == limiter) return limit.name;
  return "none";
}

Occupancy occupancy(const DataSheet& sheet, const KernelResources& resources) {
  std::int64_t blocks = kUnlimited;
  Occupancy result;
  for (const Limit& limit : kLimits) {
    std::int64_t here = limit.blocks(sheet, resources);
    if (here >= blocks) continue;
    blocks = here;
    result.limiter = limit.limiter;
  }
  if (blocks <= 0 || blocks == kUnlimited) return result;
  result.blocks_per_sm = static_cast<int>(blocks);
  result.warps_per_sm = static_cast<int>(blocks * warps_per_block(resources));
  result.fraction = sheet.max_warps_per_sm > 0 ? double(result.warps_per_sm) / sheet.max_warps_per_sm : 0;
  return result;
}

double dram_bytes_in_flight_per_sm(const DataSheet& sheet) {
  if (sheet.multiprocessors <= 0 || sheet.boost_mhz <= 0) return 0;
  double latency_seconds = sheet.dram_latency / (sheet.boost_mhz * 1e6);
  return sheet.dram_bytes_per_s / sheet.multiprocessors * latency_seconds;
}

int warps_to_cover_dram(const DataSheet& sheet, double bytes_in_flight_per_warp) {
  if (!(bytes_in_flight_per_warp > 0)) return 0;
  double warps = std::ceil(dram_bytes_in_flight_per_sm(sheet) / bytes_in_flight_per_warp);
  return static_cast<int>(std::clamp(warps, 1.0, 1e9));
}

}  // namespace kforge::hardware
