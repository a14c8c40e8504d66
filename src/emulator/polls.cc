#include "emulator/polls.h"

#include "emulator/registers.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;

bool meets_or_stores(const ptx::Instruction& in) {
  const Exec exec = family(in);
  if (exec == Exec::bar_sync || exec == Exec::bar_red || exec == Exec::bar_warp_sync) return true;
  return exec == Exec::st && (in.mods.space == ptx::Space::shared || in.mods.space == ptx::Space::generic);
}

bool polls(const Kernel& kernel, const FlowGraph& graph, const FlowLoop& loop, const ptx::Operand& address) {
  for (std::uint32_t b = 0; b < graph.blocks.size(); ++b) {
    if (!loop.contains[b]) continue;
    for (std::uint32_t pc = graph.blocks[b].first; pc < graph.blocks[b].end; ++pc) {
      const ptx::Instruction& in = *kernel.code[pc].source;
      if (meets_or_stores(in)) return false;
      bool moves = false;
      visit_registers(in, [&](ptx::RegisterId r, bool result) { moves |= result && r == address.reg; });
      if (moves) return false;
    }
  }
  return true;
}

}  // namespace

void mark_polls(Kernel& kernel, const FunctionCode& function, const FlowGraph& graph) {
  for (std::uint32_t pc = function.entry; pc < function.end; ++pc) {
    Op& op = kernel.code[pc];
    if (family(*op.source) != Exec::ld || op.source->mods.order != ptx::Order::volatile_) continue;
    const std::uint32_t block = graph.block_of[pc - function.entry];
    const bool in_loop = block < graph.loop_of.size() && graph.loop_of[block] != kNoBlock;
    if (!graph.reducible || (in_loop && polls(kernel, graph, graph.loops[graph.loop_of[block]], op.source->operands[1]))) op.flags |= kPolls;
  }
}

}  // namespace kforge::emulator
