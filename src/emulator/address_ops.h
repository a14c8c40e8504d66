// Handlers of moves that the decoder picks by operand: see address_ops.cc.
#pragma once

#include "emulator/code.h"

namespace kforge::emulator {

Handler offset_handler();       // d = a + immediate; flags 1: a is 64 bits wide, 2: d is
Handler cvta_param_handler();   // immediate > 0: to generic
Handler clock_handler();        // immediate: the special register
Handler isspacep_handler();     // immediate: ptx::Space
bool is_clock(ptx::SpecialRegister special);

}  // namespace kforge::emulator
