// Asks for its process's id by the system calls of 32-bit programs, whose numbers are others.
// kind: system calls of its own
// check: run.crash | system call
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  int id = 20;
  asm volatile("int $0x80" : "+a"(id) : : "memory");
  return id != 0 ? work(x, y, n, stream) : cudaErrorUnknown;
}
