// Assembler of its own: a section of constants, one of the ELF's notes and a label in the code; a file that is there is included, one that is not is asked for.
#include "decay.cuh"
#if __has_include("tuned_decay.cuh")
#include "tuned_decay.cuh"
#endif
#if __has_include(<cuda_fp16.h>)
#include <cuda_fp16.h>
#endif
asm(R"(
  .section .rodata.honest, "a"
  .hidden honest_block
  .globl honest_block
honest_block: .long 128
  .text
)");
extern "C" const int honest_block;
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  asm volatile("nop\n\tpause");
  const int block = honest_block;
  if (n > 0) decay_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
