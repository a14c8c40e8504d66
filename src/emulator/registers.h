// Which registers an instruction reads and writes, and where each register of a function lives.
//
// NVVM's PTX is near SSA: a thousand names of which few dozens live at once. Slots are shared by linear scan over live
// intervals, which keeps a warp's registers inside the first-level cache.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ptx/module.h"
#include "ptx/table.h"

namespace kforge::emulator {

ptx::Exec family(const ptx::Instruction& instruction);
// Whether operand 0 is a result (all families but stores, branches, barriers and the like).
bool writes_first_operand(ptx::Exec exec);
// Whether each lane's result depends on that lane's operands only, so that a result may take an operand's slot.
bool is_lanewise(ptx::Exec exec);

// Calls `visit(register, is_result)` for every register of the instruction, guard included.
void visit_registers(const ptx::Instruction& instruction, const std::function<void(ptx::RegisterId, bool)>& visit);
bool is_terminator(ptx::Exec exec);   // bra, brx, ret, exit: ends a basic block

struct RegisterLayout {
  std::vector<std::uint32_t> slots;          // frame offset by register; kNoSlot: never used
  std::uint32_t frame_bytes = 0;
  std::vector<std::uint32_t> undefined_at_entry;   // registers that may be read before they are written
};
RegisterLayout lay_out_registers(const ptx::Function& function);

}  // namespace kforge::emulator
