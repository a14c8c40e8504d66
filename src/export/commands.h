// What to type to build and test an exported folder on this machine.
#pragma once

#include <string>
#include <string_view>

#include "kforge/export.h"

namespace kforge::exporting {

// Fills in the commands of `done`, whose folder and `has_test` are known.
void add_commands(Exported& done);

// A text as one word of a shell's command.
std::string shell_word(std::string_view text);

}  // namespace kforge::exporting
