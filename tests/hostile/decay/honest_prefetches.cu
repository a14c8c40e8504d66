// Prefetches its next tile into the L2 cache while it computes.
#include "decay.cuh"

static __global__ void strided(const float* x, float* y, int n) {
  const int step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    if (i + step < n) asm volatile("prefetch.global.L2 [%0];" ::"l"(x + i + step));
    y[i] = decayed(x[i]);
  }
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  const int blocks = n < 32 * 256 ? (n + 255) / 256 : 32;
  if (n > 0) strided<<<blocks, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
