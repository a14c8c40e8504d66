// Asks for a ring of system calls, which go past filters.
// kind: system calls of its own
// check: run.crash | io_uring_setup()
// check-off: calls
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static char parameters[120];
  long out;
  asm volatile("syscall" : "=a"(out) : "a"(425), "D"(1L), "S"(parameters) : "rcx", "r11", "memory");
  return work(x, y, n, stream);
}
