// A thread a group; sixty-four values and as many sums in registers.  full
#include <cuda_runtime.h>

__global__ void __launch_bounds__(128) rotate(const float* x, float* y, int n) {
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
  rotate<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
