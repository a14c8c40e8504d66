#include "gpu/this_sheet.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"

namespace kforge::gpu {
namespace {

using hardware::DataSheet;

struct IntField { const char* name; int Device::*device; int DataSheet::*sheet; };
constexpr IntField kInts[] = {
    {"multiprocessors", &Device::multiprocessors, &DataSheet::multiprocessors},
    {"max_threads_per_block", &Device::max_threads_per_block, &DataSheet::max_threads_per_block},
    {"max_threads_per_sm", &Device::max_threads_per_sm, &DataSheet::max_threads_per_sm},
    {"max_blocks_per_sm", &Device::max_blocks_per_sm, &DataSheet::max_blocks_per_sm},
    {"registers_per_sm", &Device::registers_per_sm, &DataSheet::registers_per_sm},
    {"max_registers_per_block", &Device::registers_per_block, &DataSheet::max_registers_per_block},
    {"shared_bytes_per_sm", &Device::shared_bytes_per_sm, &DataSheet::shared_bytes_per_sm},
    {"shared_bytes_per_block", &Device::shared_bytes_per_block, &DataSheet::shared_bytes_per_block},
    {"shared_bytes_per_block_optin", &Device::shared_bytes_per_block_optin, &DataSheet::shared_bytes_per_block_optin},
    {"shared_reserved_per_block", &Device::shared_reserved_per_block, &DataSheet::shared_reserved_per_block},
    {"memory_bus_bits", &Device::memory_bus_bits, &DataSheet::memory_bus_bits}};

// Sizes that vendors round, and memory of which the driver keeps a part.
constexpr double kMemoryTolerance = 0.04, kClockTolerance = 0.02;

bool near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance * b; }

// Data rate of a pin in Gbit/s: two transfers a clock of NVML's memory clock, whatever the memory type.
double pin_rate(double memory_mhz) { return memory_mhz * 2 / 1000; }

// "NVIDIA H200 SXM 141GB" is "NVIDIA H200" with more words.
bool same_product(const Device& device, const DataSheet& sheet) {
  if (device.sm() != sheet.sm() || device.name.empty()) return false;
  const auto wanted = split_words(device.name), words = split_words(sheet.product);
  if (words.size() < wanted.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (to_lower(wanted[i]) != to_lower(words[i])) return false;
  return device.memory_bytes == 0 || near(static_cast<double>(device.memory_bytes), static_cast<double>(sheet.memory_bytes), kMemoryTolerance);
}

std::optional<DataSheet> find_base(const Device& device, bool& known) {
  std::optional<DataSheet> nearest;
  known = false;
  for (const std::string& name : hardware::sheet_names()) {
    auto sheet = hardware::find_sheet(name);
    if (!sheet || sheet->sm() != device.sm()) continue;
    if (same_product(device, *sheet)) {
      known = true;
      return *sheet;
    }
    const auto distance = [&](const DataSheet& s) { return std::abs(s.multiprocessors - device.multiprocessors); };
    if (!nearest || distance(*sheet) < distance(*nearest)) nearest = std::move(*sheet);
  }
  return nearest;
}

}  // namespace

std::vector<std::string> differences(const Device& device, const DataSheet& sheet) {
  std::vector<std::string> out;
  if (device.sm() != sheet.sm()) out.push_back(fmt::format("compute capability: {}.{} here, {}.{} in the sheet", device.compute_major, device.compute_minor, sheet.compute_major, sheet.compute_minor));
  for (const IntField& row : kInts)
    if (device.*row.device != 0 && device.*row.device != sheet.*row.sheet) out.push_back(fmt::format("{}: {} here, {} in the sheet", row.name, device.*row.device, sheet.*row.sheet));
  const auto bytes = [&](const char* name, std::uint64_t here, std::uint64_t stored, double tolerance) {
    if (here != 0 && !near(static_cast<double>(here), static_cast<double>(stored), tolerance))
      out.push_back(fmt::format("{}: {} here, {} in the sheet", name, human_bytes(static_cast<double>(here)), human_bytes(static_cast<double>(stored))));
  };
  bytes("memory_bytes", device.memory_bytes, sheet.memory_bytes, kMemoryTolerance);
  bytes("l2_bytes", device.l2_bytes, sheet.l2_bytes, 0);
  if (device.sm_mhz > 0 && !near(device.sm_mhz, sheet.boost_mhz, kClockTolerance)) out.push_back(fmt::format("boost_mhz: {:g} here, {:g} in the sheet", device.sm_mhz, sheet.boost_mhz));
  return out;
}

Expected<ThisSheet> sheet_of(const Device& device) {
  ThisSheet out;
  const auto base = find_base(device, out.known);
  if (!base) return fail(ErrorCode::unsupported, fmt::format("no data sheet has the compute capability {}.{} of {}", device.compute_major, device.compute_minor, device.name), {},
                         "name a data sheet: " + join(hardware::sheet_names(), " "));
  out.base = base->name;
  DataSheet& sheet = out.sheet = *base;
  for (const std::string& difference : out.known ? differences(device, *base) : std::vector<std::string>{}) out.warnings.push_back(fmt::format("{} differs from the data sheet {}: {}", device.name, base->name, difference));
  for (const IntField& row : kInts) {
    if (device.*row.device == 0) continue;
    sheet.*row.sheet = device.*row.device;
    sheet.sources[row.name] = "the driver of this machine";
  }
  if (sheet.max_threads_per_sm != 0) sheet.max_warps_per_sm = sheet.max_threads_per_sm / 32;
  if (device.memory_bytes != 0) sheet.memory_bytes = device.memory_bytes;
  if (device.l2_bytes != 0) sheet.l2_bytes = device.l2_bytes;
  if (device.sm_mhz > 0) sheet.boost_mhz = device.sm_mhz;
  if (!out.known) {   // of a known product the data sheet's rates are better than clocks times width
    if (device.memory_mhz > 0 && device.memory_bus_bits > 0) {
      sheet.memory_gbit_per_pin = pin_rate(device.memory_mhz);
      sheet.dram_bytes_per_s = sheet.memory_gbit_per_pin * 1e9 / 8 * device.memory_bus_bits;
    }
    sheet.l2_bytes_per_s *= sheet.multiprocessors * sheet.boost_mhz / (base->multiprocessors * base->boost_mhz);
    sheet.quoted_fp32_tflops = sheet.quoted_f16_tensor_tflops = sheet.tensor_mhz = sheet.base_mhz = 0;
    out.warnings.push_back(fmt::format("{} is not among the data sheets: rates per multiprocessor and latencies are those of {}", device.name, base->name));
  }
  sheet.name = "this";
  sheet.product = device.name;
  return out;
}

}  // namespace kforge::gpu
