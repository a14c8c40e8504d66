// What the emulated runtime left behind in the report folder of a program's run (cudart/session.h), read back and put together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "evidence/launch_log.h"
#include "kforge/verdict.h"

namespace kforge::forge {

struct ProgramReport {
  std::uint64_t launches = 0, thread_instructions = 0;
  double seconds = 0;                    // of launches
  bool any = false;                      // some process used the device
  bool complete = true;                  // each of them came to its end
  evidence::LaunchLog log;
  std::map<std::string, evidence::SourcePosition> places;   // of allocations that the log speaks of, by label
  std::string damaged;                   // why a report could not be read; ""
};

ProgramReport read_program_report(const std::filesystem::path& folder);

// Contracts of the checks that `wanted` names ("none", "fast", "all" or a list); `needs_observers`: those beyond fast ones.
struct CheckChoice { std::vector<std::string> contracts; bool needs_observers = false; };
Expected<CheckChoice> choose_checks(const std::string& wanted);

// Errors and advice of the chosen contracts, at lines of `source` where there is one.
std::vector<Finding> program_findings(const ProgramReport& report, const CheckChoice& checks, const std::string& source);

// Schema kforge.profile/1: per kernel and source line, with Nsight Compute's metric names.
std::string profile_json(const ProgramReport& report, const std::string& gpu);

}  // namespace kforge::forge
