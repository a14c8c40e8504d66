// What the GPU was seen to do in calls of a contestant, by CUPTI: a second witness of what the rung "time" found, after all timing.
//
// It is the word of the candidate's own process, as all that comes from there: it can speak against a candidate, never for it. Where CUPTI is missing or
// does not work, nothing is concluded.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kforge::trial {

struct Activity {
  std::string trouble = "it was not asked for";   // why nothing was seen; "" when the rest counts
  // Of the last of the watched calls.
  std::uint64_t kernels = 0, streams = 0, copies = 0, host_copies = 0, copied_bytes = 0, fills = 0;   // host_copies: of `copies`, those from or to the host
  std::vector<std::string> names;                 // of its kernels, mangled, each once, in order
  // Of the watched call where it is largest: how long work goes on after everything on the given stream is done, and which.
  double late_us = 0;
  std::string late;
};

// The worker's answer to the verb "activity": calls of records, each ended by the marker on the given stream (worker_timing.h). What cannot be read is trouble.
Activity read_activity(const nlohmann::json& answer);

// Kernels that the GPU ran and that are not among `own` (mangled).
std::vector<std::string> foreign_kernels(const Activity& activity, const std::vector<std::string>& own);

}  // namespace kforge::trial
