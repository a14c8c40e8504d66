// Blocks start a little apart by the GPU's clock, with nanosleep: no value depends on it.
#include "decay.cuh"
static __global__ void apart(const float* x, float* y, int n) {
  const long long start = clock64();
  while (clock64() - start < 64 * (blockIdx.x % 4)) __nanosleep(20);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = decayed(x[i]);
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  if (n > 0) apart<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
