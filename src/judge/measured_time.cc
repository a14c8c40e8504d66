#include "judge/measured_time.h"

#include <algorithm>

#include "hardware/roofline.h"
#include "judge/modelled_time.h"

namespace kforge::judge {

TimeReport measured_time(const std::vector<trial::Timing>& times, const TimeConditions& where) {
  TimeReport out;
  out.source = "measured";
  double longest = -1;
  bool all_graphs = true;
  for (const trial::Timing& timing : times) {
    if (!timing.name.empty()) continue;
    out.us += timing.us;
    out.p99_us += timing.p99_us;
    out.launch_us += timing.launch_us;
    out.graph_us += timing.graph_us;
    all_graphs &= timing.graph_us > 0;
    out.back_to_back_us += timing.back_to_back_us;
    out.first_call_us = std::max(out.first_call_us, timing.first_call_us);
    out.interval = std::max(out.interval, timing.interval);
    out.samples += timing.samples;
    out.discarded += timing.discarded;
    out.verified += timing.verified;
    out.host_bound |= timing.host_bound;
    out.warm |= timing.warm;
    out.conditions.power_capped |= timing.conditions.power_capped;
    if (timing.us <= longest) continue;
    longest = timing.us;
    out.spread = timing.spread;
    const bool capped = out.conditions.power_capped;
    out.conditions = where;
    out.conditions.sm_mhz = timing.conditions.sm_mhz;
    out.conditions.memory_mhz = timing.conditions.memory_mhz;
    out.conditions.temperature_c = timing.conditions.temperature_c;
    out.conditions.power_w = timing.conditions.power_w;
    out.conditions.power_capped = capped;
  }
  if (!all_graphs) out.graph_us = 0;   // a sum with parts missing
  for (const trial::Timing& timing : times) {
    if (timing.name.empty()) continue;
    auto found = std::find_if(out.baselines.begin(), out.baselines.end(), [&](const BaselineTime& b) { return b.name == timing.name; });
    if (found == out.baselines.end()) found = out.baselines.insert(found, {timing.name, 0});
    if (timing.failure.empty() && found->us >= 0) found->us += timing.us;
    else found->us = -1;
  }
  std::erase_if(out.baselines, [](const BaselineTime& b) { return b.us < 0; });
  return out;
}

double seen_floor_us(const PerformanceInput& input, double input_bytes) {
  double read = 0, written = input.compulsory_bytes - input_bytes;
  for (const evidence::KernelProfile& kernel : *input.kernels) {
    const auto work = kernel_work(input, kernel);
    if (!work) return 0;
    read += work->load_bytes;
  }
  read = std::min(read, input_bytes);
  hardware::Work work;
  work.dram_bytes = read;
  work.l2_bytes = read + std::max(written, 0.0);
  return hardware::roofline(*input.sheet, work).seconds * 1e6;
}

}  // namespace kforge::judge
