// Throws and catches inside, and jumps back out of a search, on its own stack.
#include <csetjmp>
#include <stdexcept>
#include "decay.cuh"
static int checked(int n) {
  if (n < 0) throw std::invalid_argument("n");
  return n;
}
static std::jmp_buf found;
static void search(int n, int from) {
  if (from >= n || from >= 64) std::longjmp(found, 1 + from);
  search(n, from + 1);
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  try {
    (void)checked(n);
    (void)checked(-1);
  } catch (const std::exception&) {
  }
  if (setjmp(found) == 0) search(n, 0);
  return work(x, y, n, stream);
}
