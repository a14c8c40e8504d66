// The source line of every op, those included to which the compiler gave none.
#pragma once

#include "emulator/code.h"
#include "emulator/flow_graph.h"

namespace kforge::emulator {

// nvcc writes `.loc 1 0 3` (line 0) for instructions that it made up or moved, and none at all before a function's first
// `.loc`. A load among them was hoisted or merged: it takes the line of the first use of what it loads. Any other op takes the nearest
// line before it in its block, else the last line of the block that dominates its own (the branch that led there), else the first
// line of the function.
void complete_locations(Kernel& kernel, const FunctionCode& function, const FlowGraph& graph);

}  // namespace kforge::emulator
