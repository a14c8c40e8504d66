// mov of .b128 registers, which are two slots of 64-bit lanes side by side.
#pragma once

#include "emulator/code.h"

namespace kforge::emulator {

// r[0] result, r[1] source.
Handler wide_move_handler();
// mov.v2 and mov.v4: list holds the results (list_count of them), then the sources; all are read before any is written.
Handler vector_move_handler();
// mov.b128 d, {a, b}: list -> r[0]; mov.b128 {a, b}, d: r[1] -> list. bytes: of an element.
Handler wide_pack_handler(bool pack);

}  // namespace kforge::emulator
