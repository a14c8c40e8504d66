// Symbols that a candidate's object must not offer: whoever is loaded after it, or looks a name up in it, would get the
// candidate's version of a CUDA, C library or worker function (contracts.md, "interface").
#pragma once

#include <string>
#include <vector>

#include "build/elf.h"

namespace kforge::build {

bool is_forbidden_symbol(const std::string& name);
std::vector<std::string> forbidden_symbols(const ElfFile& object, const std::string& launcher);

}  // namespace kforge::build
