// suld, sust and sured: see texture_ops.h for the operands.
#pragma once

#include "emulator/handlers.h"

namespace kforge::emulator {

Handlers select_surface(ptx::Exec exec);

}  // namespace kforge::emulator
