// cvt between integers whose types are narrower than their slots, or than 32 bits: bytes and half-words of images, and 64-bit registers of which the
// low half is meant. Those as wide as their slots are in alu_convert.inc.
#pragma once

#include "emulator/code.h"

namespace kforge::emulator {

// Null: saturates, is not from integer to integer, or needs a cut between two widths. Operands r[0], r[1]; `wide`: the slot has 64-bit lanes.
Handler integer_conversion(const ptx::Instruction& instruction, bool wide_result, bool wide_source);

}  // namespace kforge::emulator
