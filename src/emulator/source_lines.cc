#include "emulator/source_lines.h"

#include <algorithm>

#include "emulator/registers.h"

namespace kforge::emulator {
namespace {

bool is_known(const Kernel& kernel, std::uint32_t location) {
  const auto& frames = kernel.module->locations[location].frames;
  return !frames.empty() && frames.front().line != 0;
}

// The location of the first op behind the load at `load` that reads what it loads; 0: none that has one.
std::uint32_t first_use(const Kernel& kernel, const FunctionCode& function, std::uint32_t load) {
  std::vector<ptx::RegisterId> loaded;
  visit_registers(*kernel.code[load].source, [&](ptx::RegisterId r, bool result) { if (result) loaded.push_back(r); });
  for (std::uint32_t pc = load + 1; pc + 1 < function.end; ++pc) {
    if (!is_known(kernel, kernel.code[pc].location)) continue;
    bool reads = false;
    visit_registers(*kernel.code[pc].source, [&](ptx::RegisterId r, bool result) { reads |= !result && std::ranges::find(loaded, r) != loaded.end(); });
    if (reads) return kernel.code[pc].location;
  }
  return 0;
}

}  // namespace

void complete_locations(Kernel& kernel, const FunctionCode& function, const FlowGraph& graph) {
  std::uint32_t first = 0;
  for (std::uint32_t pc = function.entry; pc < function.end && first == 0; ++pc)
    if (is_known(kernel, kernel.code[pc].location)) first = kernel.code[pc].location;
  if (first == 0) return;
  std::vector<std::uint32_t> last(graph.blocks.size(), 0);   // 0: the block has no line of its own
  for (std::size_t b = 0; b < graph.blocks.size(); ++b)
    for (std::uint32_t pc = graph.blocks[b].first; pc < graph.blocks[b].end; ++pc)
      if (is_known(kernel, kernel.code[pc].location)) last[b] = kernel.code[pc].location;
  for (std::uint32_t b = 0; b < graph.blocks.size(); ++b) {
    std::uint32_t current = 0;
    for (std::uint32_t above = b; current == 0 && above != 0 && graph.dominator[above] != kNoBlock;) {
      above = graph.dominator[above];
      current = last[above];
    }
    if (current == 0) current = first;
    for (std::uint32_t pc = graph.blocks[b].first; pc < graph.blocks[b].end; ++pc) {
      Op& op = kernel.code[pc];
      if (is_known(kernel, op.location)) {
        current = op.location;
        continue;
      }
      const std::uint32_t use = family(*op.source) == ptx::Exec::ld && pc + 1 != function.end ? first_use(kernel, function, pc) : 0;
      op.location = use != 0 ? use : current;
    }
  }
}

}  // namespace kforge::emulator
