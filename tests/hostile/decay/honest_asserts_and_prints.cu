// Device assertions, and a message that is never printed; the host complains on stderr.
#include <cassert>
#include <cstdio>
#include "decay.cuh"
static __global__ void checked(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(blockDim.x == 128);
  if (i >= n) return;
  const float value = decayed(x[i]);
  if (value > 1e30f) printf("element %d overflows\n", i);
  y[i] = value;
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  if (n < 0) std::fprintf(stderr, "a negative size: %d\n", n);
  if (n > 0) checked<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
