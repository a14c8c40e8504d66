// One source tried with other values of its parameters: `sweep_parameters` of `kforge mcp` as a function.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kforge/check.h"
#include "kforge/error.h"

namespace kforge {

struct SweepOptions {
  CheckOptions check;              // the candidate's file holds the source
  std::map<std::string, std::vector<std::string>> parameters;   // by name: values, each one integer or word
  std::uint64_t points = 16;       // judged at most, each next one where the ones before promise most
  std::uint64_t jobs = 0;          // judged at once; 0: one a core
};

struct SweepPoint {
  std::vector<std::pair<std::string, std::string>> values;
  std::string source;
  std::string status, why;         // accepted, rejected, error; "failed" when there is no verdict
  double us = 0;                   // 0: no time
  std::string time_source;
};

// `source` with the parameter's definition changed: the one line "#define NAME VALUE" or "const(expr) TYPE NAME = VALUE;". Errors: bad_input (no such
// definition, or several; a value that is no integer or word).
Expected<std::string> with_parameter(std::string_view source, const std::string& name, const std::string& value);

// Best first: accepted by time, then the others. Errors: bad_input (call, task, parameters), missing, limit (interrupted).
Expected<std::vector<SweepPoint>> sweep(const SweepOptions& options);

}  // namespace kforge
