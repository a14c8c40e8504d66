// The instruction table: one row per instruction form, and the only place that knows the instruction set.
// Parser, checker, printer, coverage list, documentation and the emulator's dispatch are read from it.
//
// A row (instructions.def) is
//   PTX_FORM(id, opcode, syntax, types, operands, ptx_version, sm, class, exec, section)
// e.g. PTX_FORM(add_int, "add", "{.sat}", "u16 u32 u64 s16 s32 s64", "d,a,b", 10, 10, integer, add, "9.7.1.1")
// where `exec` names the semantic family that the emulator implements (several rows may share one).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace kforge::ptx {

enum class InstructionClass : std::uint8_t {
  integer, floating, half, special, conversion, compare, logic, move, memory, atomic, texture,
  control, barrier, warp, matrix, async, misc,
};

// One enumerator per distinct `exec` of instructions.def. (The list is written in exec.def, one KFORGE_EXEC(name)
// a line, so that a new row with an unknown family does not compile.)
enum class Exec : std::uint16_t {
#define KFORGE_EXEC(name) name,
#include "ptx/exec.def"
#undef KFORGE_EXEC
};

struct Form {
  std::string_view id, opcode, syntax, types, operands;
  std::uint16_t ptx_version, sm;   // minimum: 78 is PTX 7.8, 80 is sm_80
  InstructionClass klass;
  Exec exec;
  std::string_view section;        // of the PTX manual
};
std::span<const Form> instruction_table();
// How many of a form's operands, counted from the first, are written. REQUIRES: operands is not "*" (0 then).
std::uint32_t destination_count(const Form& form);

}  // namespace kforge::ptx
