// PTX text to a typed Module. Reads all that nvcc and NVRTC 13.0 emit for sm_75 to sm_90.
//
// parse() never crashes or hangs on any bytes: malformed text, and instructions that no table row takes, are
// errors with file:line:column in the PTX, what was found, and what was expected.
#pragma once

#include <string_view>

#include "base/error.h"
#include "ptx/module.h"

namespace kforge::ptx {

// `file` is used in error messages only.
Expected<Module> parse(std::string_view text, std::string_view file = "<ptx>");

// The canonical text of a module: parse(print(m)) prints the same text.
std::string print(const Module& module);

}  // namespace kforge::ptx
