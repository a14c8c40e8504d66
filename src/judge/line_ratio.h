// Source lines of a kernel's profile, merged to the candidate's own lines, with the ratio of two of their counters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evidence/profile.h"

namespace kforge::judge {

struct MergedLine {
  evidence::SourcePosition position;
  std::uint64_t numerator = 0, denominator = 0;
  double ratio = 0;                      // numerator / denominator; lines with denominator 0 are left out
  double share = 0;                      // of the kernel's numerator
  evidence::RequestExample example;      // the worst one of the merged lines
};

// Lines whose innermost frame in the candidate's file is the same line are one.
std::vector<MergedLine> merge_lines(const evidence::KernelProfile& kernel, evidence::Metric numerator, evidence::Metric denominator,
                                    evidence::RequestExample evidence::LineProfile::*example, const std::string& candidate);

// The line with most warp instructions. REQUIRES: the kernel has lines.
const evidence::LineProfile& busiest_line(const evidence::KernelProfile& kernel);

// Lines for people: what each active lane asked for (addresses, or banks of a shared request).
std::vector<std::string> describe_request(const evidence::RequestExample& request, bool shared);

// "pad each row of 128 bytes by 4 bytes: ..." when the observed addresses have a row pitch for which padding helps.
std::optional<std::string> padding_advice(const evidence::RequestExample& request);

}  // namespace kforge::judge
