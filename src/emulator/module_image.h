// The variables of a loaded module in device memory.
#pragma once

#include "emulator/code.h"

namespace kforge::emulator {

// Allocates global and constant variables and writes their initial values, addresses in them resolved.
// Errors: limit (no memory left), bad_input (an initial value names an unknown symbol).
Expected<void> create_variables(LoadedModule& module, Memory& memory);

}  // namespace kforge::emulator
