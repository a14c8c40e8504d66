// Warps add to the result without an atomic.
#include <cuda_runtime.h>

__global__ void clear(float* total) { *total = 0.0f; }

__global__ void sum_warps(const float* x, float* total, int n) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) *total += sum;  // expect: safety.races
}

extern "C" cudaError_t reduction(const float* x, float* total, int n, cudaStream_t stream) {
  clear<<<1, 1, 0, stream>>>(total);
  sum_warps<<<528, 256, 0, stream>>>(x, total, n);
  return cudaGetLastError();
}
