// The reader of fatbins lives in ptx/fatbin.h, one floor down, where the runtime library can reach it too. This room's
// names for it.
#pragma once

#include "ptx/fatbin.h"

namespace kforge::build {

using ptx::Fatbin;
using ptx::FatbinEntry;
using ptx::fatbin_size;
using ptx::read_fatbin;

}  // namespace kforge::build
