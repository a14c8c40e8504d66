// What the candidates of this folder share: the honest kernel, 256 steps of z = z / 2 + x.
#pragma once

#include <cuda_runtime.h>

static __device__ __forceinline__ float decayed(float x) {
  float z = 0;
#pragma unroll 8
  for (int step = 0; step < 256; ++step) z = 0.5f * z + x;
  return z;
}

static __global__ void decay_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = decayed(x[i]);
}

static inline cudaError_t work(const float* x, float* y, int n, cudaStream_t stream) {
  if (n > 0) decay_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
