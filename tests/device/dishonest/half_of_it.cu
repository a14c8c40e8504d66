// Computes half of the outputs. honest: wrong
#include <cuda_runtime.h>

__global__ void decay_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float z = 0;
#pragma unroll 8
  for (int step = 0; step < 256; ++step) z = 0.5f * z + x[i];
  y[i] = z;
}


extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  decay_kernel<<<(n / 2 + 256) / 256, 256, 0, stream>>>(x, y, n / 2 + 1);
  return cudaGetLastError();
}
