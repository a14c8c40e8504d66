// The frequent memory instructions: a full warp, plain, to global, constant or shared memory, of a shape that the
// instruction had before. Where nothing observes, requests of any addresses and lanes are done here too
// (memory_scattered.inc). Everything else goes to Op::slow, before anything was changed.
//
// Compiled twice, as arithmetic is (alu.h).
#pragma once

#include "emulator/code.h"

namespace kforge::emulator {

// Replaces op.run where the instruction is one of these. op.slow and the operands are there already.
void add_quick_handlers(Op& op, ptx::Space space, bool store);

namespace baseline {
Handlers select_quick(const Op& op, ptx::Space space, bool store);
}
namespace avx2 {
Handlers select_quick(const Op& op, ptx::Space space, bool store);
}

}  // namespace kforge::emulator
