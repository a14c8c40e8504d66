// Warps add without an atomic.
#include <cuda_runtime.h>

__global__ void sum_kernel(const float* x, float* total, int n) {
  float v = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0) *total += v;  // expect: safety.races
}

extern "C" cudaError_t sum(const float* x, float* total, int n, cudaStream_t stream) {
  cudaMemsetAsync(total, 0, sizeof(float), stream);
  sum_kernel<<<528, 256, 0, stream>>>(x, total, n);
  return cudaGetLastError();
}
