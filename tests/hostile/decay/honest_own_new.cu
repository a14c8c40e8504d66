// Operators of C++ of its own, and functions whose names look like the C library's, all inside the object.
#include <cstdlib>
#include <new>
#include <vector>
#include "decay.cuh"
void* operator new(std::size_t bytes) { if (void* out = std::malloc(bytes ? bytes : 1)) return out; std::abort(); }
void operator delete(void* old) noexcept { std::free(old); }
void operator delete(void* old, std::size_t) noexcept { std::free(old); }
static void* memcpy_rows(void* to, const void* from, std::size_t bytes) { return __builtin_memcpy(to, from, bytes); }
namespace own { static int read(int n) { return n; } static int open(int n) { return n; } static double clock_gettime(double at) { return at; } }
extern "C" __attribute__((weak)) void decay_trace_hook(int n);
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  std::vector<int> sizes(3, n), copied(3);
  memcpy_rows(copied.data(), sizes.data(), 3 * sizeof(int));
  if (decay_trace_hook) decay_trace_hook(n);
  return work(x, y, own::open(own::read(copied[2])) + static_cast<int>(own::clock_gettime(0)), stream);
}
