// compute-sanitizer: what its report says, as violations of the contracts that it bears on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evidence/violation.h"

namespace kforge::gpu {

struct SanitizerTool { const char* name; const char* contract; };   // "memcheck", "safety.bounds"
inline constexpr SanitizerTool kSanitizerTools[] = {{"memcheck", "safety.bounds"}, {"racecheck", "safety.races"}, {"initcheck", "safety.uninitialised"}, {"synccheck", "safety.barriers"}};

struct SanitizerReport {
  std::vector<evidence::Violation> violations;
  std::string trouble;           // why it says nothing: "Device not supported", an internal error; "" when it ran
};

// Of one tool's output (lines that begin with "========= "). Unknown kinds of error are violations of the tool's own contract.
SanitizerReport read_sanitizer(std::string_view text, const SanitizerTool& tool);

}  // namespace kforge::gpu
