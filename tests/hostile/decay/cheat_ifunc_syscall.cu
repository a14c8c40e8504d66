// The resolver of an indirect function, which the loader calls before anything else of the object, reads a file by instructions of its own.
// kind: system calls of its own
// check: run.crash | open() by an instruction of its own
// check-off: calls
#include "decay.cuh"
static long call3(long number, long a, long b, long c) {
  long out;
  asm volatile("syscall" : "=a"(out) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return out;
}
static int plain() { return 1; }
extern "C" {
int (*chosen_resolver())() { (void)call3(2, reinterpret_cast<long>("/proc/self/maps"), 0, 0); return plain; }
__attribute__((ifunc("chosen_resolver"))) int kf_chosen();
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) { return kf_chosen() ? work(x, y, n, stream) : cudaErrorUnknown; }
