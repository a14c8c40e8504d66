// Loads that only guess: what a compare-and-swap is to find.
//
// `old = *p; do { assumed = old; old = atomicCAS(p, assumed, f(assumed)); } while (old != assumed);` is how the CUDA programming guide makes
// any atomic operation. The first load races with the swaps of others by the letter; whatever it reads, a wrong guess is only tried again.
// Such loads count as the relaxed reads that they should be: still a race with plain writes, not with atomics.
#pragma once

#include "emulator/code.h"

namespace kforge::emulator {

// Sets kStrong in the function's loads whose value reaches, by moves and conversions, what an atom.cas compares with.
void mark_guesses(Kernel& kernel, const FunctionCode& function);

}  // namespace kforge::emulator
