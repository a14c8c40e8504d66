// The arithmetic of the reference engine: one instruction, one thread, operands as 64-bit values. Each function follows the
// semantics section of the PTX manual word by word; nothing is shared with the fast executor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "emulator/reference_engine_float.h"
#include "ptx/module.h"
#include "ptx/table.h"

namespace kforge::emulator::reference {

struct Scalars {
  std::array<std::uint64_t, 8> in{};   // sources as written, cut to their operand's type; predicates 0 or 1, negation done
  std::size_t count = 0;
  bool carry = false;                  // CC.CF, read and written
  std::uint64_t d = 0;                 // result, cut to its type by the caller
  bool q = false;                      // second predicate of `p|q`
};

// False: the family or the form is not arithmetic of this engine.
bool evaluate(const ptx::Instruction& instruction, ptx::Exec exec, Scalars& s);
bool evaluate_integer(const ptx::Instruction& instruction, ptx::Exec exec, Scalars& s);
bool evaluate_bits(const ptx::Instruction& instruction, ptx::Exec exec, Scalars& s);
bool evaluate_float(const ptx::Instruction& instruction, ptx::Exec exec, Scalars& s);
bool evaluate_compare(const ptx::Instruction& instruction, ptx::Exec exec, Scalars& s);
bool evaluate_video(const ptx::Instruction& instruction, ptx::Exec exec, Scalars& s);
bool evaluate_convert(const ptx::Instruction& instruction, ptx::Exec exec, Scalars& s);

// One element of an atomic operation: the new value of memory. `in_global`: f32 sums flush subnormals there (9.7.13.5).
std::uint64_t atomic_result(const ptx::Instruction& instruction, std::uint64_t old, std::uint64_t b, std::uint64_t c, bool in_global);

Int value_of(std::uint64_t bits, ptx::Type type);             // two's complement when the type is signed
Int lowest(ptx::Type type);
Int highest(ptx::Type type);
std::uint64_t cut(std::uint64_t bits, std::uint32_t width);   // the low `width` bits

}  // namespace kforge::emulator::reference
