// Asks for a stack that code can run from.
// kind: system calls of its own
// check: interface | a stack that code runs from
// check-off: imports
// bench: a stack that code runs from
// bench-off: imports
#include "decay.cuh"
asm(".section .note.GNU-stack,\"x\",@progbits\n.text");
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) { return work(x, y, n, stream); }
