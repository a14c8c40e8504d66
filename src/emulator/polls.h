// Volatile loads of shared memory: which of them wait for somebody.
//
// `volatile` keeps the compiler from holding a value in a register; it does not order threads. Old code exchanges data that way
// within a warp, or hides a missing barrier behind it, and the PTX model calls both accesses strong, so that they are no race. A
// volatile load is a flag's reader only where it polls: where a loop reads one place again and again until another thread has
// changed it. Those stay strong; all others are compared as plain reads are.
#pragma once

#include "emulator/code.h"
#include "emulator/flow_graph.h"

namespace kforge::emulator {

inline constexpr std::uint8_t kPolls = 16;   // Op::flags of ld, beside those of handlers.h

// Sets kPolls in the function's loads whose innermost loop leaves the address as it is, meets nobody, and stores nothing that may be shared.
void mark_polls(Kernel& kernel, const FunctionCode& function, const FlowGraph& graph);

}  // namespace kforge::emulator
