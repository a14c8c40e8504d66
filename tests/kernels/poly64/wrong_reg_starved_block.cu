// A block of 1024 threads with more registers than an SM has.
#include <cuda_runtime.h>

__global__ void rotate(const float* x, float* y, int n) {
  const int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= n) return;
  float v[64];
#pragma unroll
  for (int j = 0; j < 64; ++j) v[j] = x[g + (size_t)n * j];
#pragma unroll
  for (int k = 0; k < 64; ++k) {
    float s = 0.0f;
#pragma unroll
    for (int j = 0; j < 64; ++j) s += v[j] * v[(j + k) % 64];
    y[g + (size_t)n * k] = s;
  }
}

extern "C" cudaError_t poly64(const float* x, float* y, int n, cudaStream_t stream) {
  rotate<<<(n + 1023) / 1024, 1024, 0, stream>>>(x, y, n);
  return cudaGetLastError();  // expect-contract: launch.limits
}
