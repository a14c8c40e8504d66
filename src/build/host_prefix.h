// The part of the host compiler's input that is the same for every candidate (the headers), precompiled.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/costs.h"
#include "build/compile.h"
#include "build/nvcc_steps.h"

namespace kforge::build {

struct HostPrefix {
  std::string text;
  std::filesystem::path header;   // holds `text`; its precompiled form is beside it
};

// `command` compiles `input` to an object; this is it for an assembly text of the same stem.
Command to_assembly(Command command);

// From the cache, or made now. Nothing where that fails (a text that is no header, no space): the whole text can still be compiled.
std::optional<HostPrefix> precompile(std::string_view text, const Command& command, const std::string& input, const std::vector<std::string>& environment,
                                     const Limits& limits, CostLedger* ledger);

}  // namespace kforge::build
