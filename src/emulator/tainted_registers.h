// The undefined bytes of a warp's registers, for those that bring them there (uninitialised.cc) and carry them on (run_tainted.cc).
#pragma once

#include <memory>

#include "emulator/registers.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {

inline const FunctionCode& code_of(const Warp& w) { return *w.frame->function; }

// The dense number of a register's slot.
inline std::uint32_t index_of(const Warp& w, ptx::RegisterId reg) { return code_of(w).shadow_of_register[reg]; }

inline WarpShadow& shadow_of(Warp& w) {
  if (w.frame->shadow == nullptr) w.frame->shadow = std::make_unique<WarpShadow>(code_of(w).shadow_count);
  return *w.frame->shadow;
}

inline void update_tainted(Warp& w) {
  w.tainted = false;
  for (const auto& frame : w.frames) {
    if (frame->shadow == nullptr) continue;
    if (frame->shadow->any()) w.tainted = true;
    else frame->shadow = nullptr;
  }
}

inline void assign(Warp& w, const ptx::Operand& operand, const UndefinedBytes& value, std::uint32_t mask) {
  if (operand.kind != ptx::Operand::Kind::reg) return;
  if (w.frame->shadow == nullptr && value.any() == 0) return;
  shadow_of(w).assign(index_of(w, operand.reg), value, mask);
}

inline std::uint32_t register_bytes(const Warp& w, const ptx::Operand& operand) {
  return operand.kind == ptx::Operand::Kind::reg ? ptx::size_bytes(code_of(w).source->registers[operand.reg].type) : 4;
}

// Reports bytes that decide an address or a branch. The line of the finding is that of the load that first read them; without one, that of the use.
void report_use(Warp& w, const Op& op, std::uint32_t lanes, OriginId origin_id, UndefinedUse use);

}  // namespace kforge::emulator
