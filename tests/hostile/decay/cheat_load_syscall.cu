// An entry of .init_array, written by the assembler, asks for the parent's id by an instruction of its own while the object is loaded.
// kind: system calls of its own
// check: run.crash | getppid() by an instruction of its own
// check-off: calls
#include "decay.cuh"
asm(R"(
  .text
  .type kf_early, @function
kf_early:
  movl $110, %eax
  syscall
  ret
  .section .init_array, "aw"
  .quad kf_early
  .text
)");
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) { return work(x, y, n, stream); }
