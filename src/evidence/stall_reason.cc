#include "evidence/stall_reason.h"

#include <algorithm>
#include <iterator>

namespace kforge::evidence {
namespace {

// A second column of one metric is another version's name for it.
constexpr StallReason kReasons[] = {
    {"long_sb", "smsp__pcsamp_warps_issue_stalled_long_scoreboard", "memory", "for global, local or texture memory"},
    {"short_sb", "smsp__pcsamp_warps_issue_stalled_short_scoreboard", "shared", "for shared memory or special functions"},
    {"barrier", "smsp__pcsamp_warps_issue_stalled_barrier", "barrier", "at a block barrier"},
    {"membar", "smsp__pcsamp_warps_issue_stalled_membar", "fence", "at a memory fence"},
    {"lg", "smsp__pcsamp_warps_issue_stalled_lg_throttle", "lg full", "because the queue of global and local memory is full"},
    {"mio", "smsp__pcsamp_warps_issue_stalled_mio_throttle", "mio full", "because the queue of shared memory and special functions is full"},
    {"tex", "smsp__pcsamp_warps_issue_stalled_tex_throttle", "tex full", "because the texture queue is full"},
    {"math", "smsp__pcsamp_warps_issue_stalled_math_pipe_throttle", "pipe", "for a busy arithmetic pipe"},
    {"wait", "smsp__pcsamp_warps_issue_stalled_wait", "latency", "for a fixed latency"},
    {"no_inst", "smsp__pcsamp_warps_issue_stalled_no_instructions", "fetch", "for instructions to be fetched"},
    {"no_instructions", "smsp__pcsamp_warps_issue_stalled_no_instructions", "fetch", "for instructions to be fetched"},
    {"branch_resolving", "smsp__pcsamp_warps_issue_stalled_branch_resolving", "branch", "for a branch"},
    {"imc", "smsp__pcsamp_warps_issue_stalled_imc_miss", "constant", "for constant memory"},
    {"dispatch", "smsp__pcsamp_warps_issue_stalled_dispatch_stall", "dispatch", "for the dispatcher"},
    {"drain", "smsp__pcsamp_warps_issue_stalled_drain", "drain", "for stores at the end"},
    {"sleep", "smsp__pcsamp_warps_issue_stalled_sleeping", "asleep", "asleep"},
    {"sleeping", "smsp__pcsamp_warps_issue_stalled_sleeping", "asleep", "asleep"},
    {"gmma", "smsp__pcsamp_warps_issue_stalled_gmma", "matrix", "for matrix units"},
    {"warpgroup_arrive", "smsp__pcsamp_warps_issue_stalled_warpgroup_arrive", "warpgrp", "for the other warps of its warpgroup"},
    {"misc", "smsp__pcsamp_warps_issue_stalled_misc", "other", "for other reasons"},
    {"selected", "smsp__pcsamp_warps_issue_stalled_selected", "issued", "not at all: they issued", false},
    {"not_selected", "smsp__pcsamp_warps_issue_stalled_not_selected", "ready", "not at all: another warp was chosen", false},
};

}  // namespace

std::span<const StallReason> stall_reasons() { return kReasons; }

const StallReason* find_stall(std::string_view name) {
  const auto found = std::find_if(std::begin(kReasons), std::end(kReasons), [&](const StallReason& one) { return one.column == name || one.metric == name; });
  return found == std::end(kReasons) ? nullptr : found;
}

std::string stall_metric(std::string_view column) {
  const StallReason* known = find_stall(column);
  return known ? std::string(known->metric) : std::string(kStallPrefix) + std::string(column);
}

}  // namespace kforge::evidence
