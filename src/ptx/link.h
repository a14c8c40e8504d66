// Linking modules of separate compilation (nvcc -rdc=true): what one text declares extern, another defines.
//
// Visible and weak names are shared by all modules; names without linkage stay a module's own, and get a suffix where two modules use the
// same one. (PTX manual, "Linking Directives".)
#pragma once

#include <vector>

#include "base/error.h"
#include "ptx/module.h"

namespace kforge::ptx {

// Errors: bad_input when a name is defined twice, or a called function is defined nowhere.
Expected<Module> link(std::vector<Module> modules);

}  // namespace kforge::ptx
