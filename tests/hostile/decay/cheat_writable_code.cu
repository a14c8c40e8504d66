// Has code that it can write over.
// kind: system calls of its own
// check: interface | code that can be written over
// check-off: imports
// bench: code that can be written over
// bench-off: imports
#include "decay.cuh"
asm(".section .kf_code,\"awx\",@progbits\n.globl kf_writable\n.hidden kf_writable\nkf_writable:\n ret\n.zero 64\n.text");
extern "C" char kf_writable[];
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) { kf_writable[32] = static_cast<char>(n); return work(x, y, n, stream); }
