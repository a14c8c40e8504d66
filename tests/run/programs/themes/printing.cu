// Device printf in its formats, with enough of them to fill lines; the host prints the same first.
#include <cstdio>

#include "self_check.h"

#define LINES(X)                                                                                                     \
  X("%d %i %u %x %X %o %c %%\n", -5, 7, 4000000000u, 48879u, 48879u, 8u, 'q')                                          \
  X("%5d|%-5d|%05d|%+d|% d|%#x|%#o\n", 42, 42, 42, 42, 42, 255u, 8u)                                                   \
  X("%f %e %g %.3f %10.2f %-10.1e| %G\n", 3.14159, 12345.678, 0.0001, 2.0 / 3, -1.5, 1e100, 1e-10)                     \
  X("%s %10s %-10s| %.3s\n", "text", "right", "left", "abcdef")                                                        \
  X("%lld %llu %llx %ld %lu %hd\n", -(1ll << 40), ~0ull, 1ull << 60, -7l, 8ul, static_cast<short>(-3))                \
  X("no arguments\n") X("%c%c%c %d%%\n", 'a', 'b', 'c', 50) X("%f %f\n", static_cast<float>(0.5), -0.0)

__global__ void print() {
#define ENTRY(...) printf(__VA_ARGS__);
  LINES(ENTRY)
#undef ENTRY
}
__global__ void print_threads() {
  if (threadIdx.x % 16 == 3) printf("block %d thread %d of %s\n", blockIdx.x, threadIdx.x, "many");
}

int main() {
#define ENTRY(...) std::printf(__VA_ARGS__);
  LINES(ENTRY)
#undef ENTRY
  std::fflush(stdout);
  print<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  print_threads<<<2, 32>>>();
  return finish();
}
