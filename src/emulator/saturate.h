// cvt.sat.f32.f32, which every single-precision exponential contains: a clamp to [0, 1], where the general conversion goes through double.
#pragma once

#include "emulator/code.h"

namespace kforge::emulator {

// Null: the instruction is another one.
Handler saturate_handler(const ptx::Instruction& instruction);

}  // namespace kforge::emulator
