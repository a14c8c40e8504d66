// What products of matrices share in the reference engine: one element of D from a row of A and a column of B.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/module.h"

namespace kforge::emulator::reference {

struct MmaTypes { ptx::Type d, a, b, c; };
// Elements as bits of their types.
std::uint64_t one_element(const ptx::Instruction& instruction, const MmaTypes& types, const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b, std::uint64_t c);

}  // namespace kforge::emulator::reference
