// Handlers of arithmetic, logic, comparison and conversion: each lane's result from that lane's operands. They are
// compiled twice, for every x86-64 and for AVX2 with FMA; the better one that this machine runs is picked at decoding.
#pragma once

#include "emulator/code.h"

namespace kforge::emulator {

// Null: not executed. Operands r[0..4] as written; r[5] is q of `p|q`; flags bit 0: the predicate source is negated.
Handler select_alu(const ptx::Instruction& instruction, ptx::Exec exec);
// cvt. `slots_fit`: the slots are as wide as the types (a type may be narrower than its register).
Handler select_cvt(const ptx::Instruction& instruction, bool slots_fit);
// Bits by outcome: 1 less, 2 equal, 4 greater, 8 unordered.
std::uint8_t compare_table(ptx::Compare compare);

// Whether the handlers for AVX2 run here.
bool has_avx2();

namespace baseline {
Handler select(const ptx::Instruction& instruction, ptx::Exec exec);
Handler select_conversion(const ptx::Instruction& instruction, bool slots_fit);
std::uint8_t compare_table(ptx::Compare compare);
}  // namespace baseline
namespace avx2 {
Handler select(const ptx::Instruction& instruction, ptx::Exec exec);
Handler select_conversion(const ptx::Instruction& instruction, bool slots_fit);
std::uint8_t compare_table(ptx::Compare compare);
}  // namespace avx2

}  // namespace kforge::emulator
