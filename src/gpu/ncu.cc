#include "gpu/ncu.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.h"
#include "gpu/csv.h"
#include "gpu/ncu_trouble.h"

namespace kforge::gpu {
namespace {

constexpr std::string_view kMetrics[] = {
    "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_bytes.sum", "sm__cycles_active.avg", "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active", "smsp__inst_executed.sum", "sm__inst_executed_pipe_tensor.sum", "launch__registers_per_thread", "launch__occupancy_limit_registers",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio", "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio", "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio"};

}  // namespace

std::vector<std::string> ncu_metrics() { return {std::begin(kMetrics), std::end(kMetrics)}; }

NcuReport read_ncu(std::string_view text) {
  NcuReport out;
  std::vector<std::string> header;
  bool units = false;
  std::size_t kernel = 0;
  for (const std::string_view line : split_lines(text)) {
    if (line.starts_with("==")) {
      if (out.trouble.empty()) out.trouble = ncu_trouble(line);
      continue;
    }
    auto fields = csv_fields(line);
    if (header.empty()) {
      const auto found = std::find(fields.begin(), fields.end(), "Kernel Name");
      if (found == fields.end()) continue;   // what the program itself prints
      kernel = static_cast<std::size_t>(found - fields.begin());
      header = std::move(fields);
      units = true;
      continue;
    }
    if (fields.size() != header.size()) continue;
    if (units && fields[kernel].empty()) {
      units = false;
      continue;
    }
    units = false;
    CounterRow& row = out.rows.emplace_back();
    row.kernel = fields[kernel];
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (header[i].find("__") == std::string::npos) continue;
      const auto value = parse_double(replace_all(fields[i], ",", ""));   // some locales group digits
      if (value && std::isfinite(*value)) row.metrics[header[i]] = *value;
    }
  }
  if (!out.rows.empty()) out.trouble.clear();
  else if (out.trouble.empty()) out.trouble = "ncu printed no table";
  return out;
}

}  // namespace kforge::gpu
