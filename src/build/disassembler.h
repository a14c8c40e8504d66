// Machine code as text, where NVIDIA's nvdisasm is at hand: what ptxas makes of a candidate's PTX, with the lines of its source.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kforge::build {

// The program: in $KFORGE_NVDISASM; else beside nvcc; else on PATH; else what `tools/setup.sh disassembler` put into the project.
std::optional<std::string> find_disassembler();

// The SASS of a PTX text for the target that it names, in nvdisasm's form with inlining (-c -gi). Errors: missing (no nvcc, no nvdisasm, with how to get it), bad_input
// (no target in the text, ptxas refuses it), failed (a tool that does not run).
Expected<std::string> disassemble(std::string_view ptx);

}  // namespace kforge::build
