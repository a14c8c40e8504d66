#include "emulator/guesses.h"

#include <set>

#include "emulator/handlers.h"
#include "emulator/registers.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;

constexpr std::size_t kCompared = 2;   // atom.cas d, [a], b, c

bool passes_on(Exec exec) { return exec == Exec::mov || exec == Exec::cvt; }

std::set<ptx::RegisterId> compared_registers(const Kernel& kernel, const FunctionCode& function) {
  std::set<ptx::RegisterId> found;
  for (std::uint32_t pc = function.entry; pc < function.end; ++pc) {
    const ptx::Instruction& in = *kernel.code[pc].source;
    if (family(in) != Exec::atom || in.mods.atom_op != ptx::AtomOp::cas || in.operands.size() <= kCompared) continue;
    if (in.operands[kCompared].reg != ptx::kNoRegister) found.insert(in.operands[kCompared].reg);
  }
  return found;
}

}  // namespace

void mark_guesses(Kernel& kernel, const FunctionCode& function) {
  std::set<ptx::RegisterId> compared = compared_registers(kernel, function);
  if (compared.empty()) return;
  for (std::size_t before = 0; before != compared.size();) {
    before = compared.size();
    for (std::uint32_t pc = function.entry; pc < function.end; ++pc) {
      const ptx::Instruction& in = *kernel.code[pc].source;
      if (!passes_on(family(in)) || in.operands.size() < 2 || !compared.contains(in.operands[0].reg)) continue;
      visit_registers(in, [&](ptx::RegisterId r, bool result) { if (!result) compared.insert(r); });
    }
  }
  for (std::uint32_t pc = function.entry; pc < function.end; ++pc) {
    Op& op = kernel.code[pc];
    const ptx::Instruction& in = *op.source;
    const bool memory = in.mods.space == ptx::Space::global || in.mods.space == ptx::Space::shared || in.mods.space == ptx::Space::generic;
    if (family(in) != Exec::ld || !memory || !compared.contains(in.operands[0].reg)) continue;
    op.flags |= kStrong;
    for (std::size_t k = 0; k < kVariants; ++k)   // the quick handlers of observed variants know plain loads only
      if (k != static_cast<std::size_t>(Variant::plain)) op.run[k] = op.slow[k];
  }
}

}  // namespace kforge::emulator
