// Why a warp issues nothing when the profiler looks at it, as Nsight Compute tells the reasons apart (its documentation, "Warp Scheduler States"). One row a reason.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kforge::evidence {

inline constexpr std::string_view kStallPrefix = "smsp__pcsamp_warps_issue_stalled_";   // of every metric

struct StallReason {
  std::string_view column;   // of ncu's page "source", without "stall_": "long_sb"
  std::string_view metric;   // counts its samples: "smsp__pcsamp_warps_issue_stalled_long_scoreboard"
  std::string_view word;     // for a column of at most 8 characters
  std::string_view words;    // "for global, local or texture memory"
  bool waits = true;         // false: the warp issued, or was ready while another was chosen
};
std::span<const StallReason> stall_reasons();

// By column or metric; null where it is not known.
const StallReason* find_stall(std::string_view name);

// The metric of a column; one that is not known is named as ncu names its metrics.
std::string stall_metric(std::string_view column);

}  // namespace kforge::evidence
