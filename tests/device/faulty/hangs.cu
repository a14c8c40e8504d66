// Waits for what never comes, a minute at most. run.hang
#include <cuda_runtime.h>

__global__ void decay_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float z = 0;
#pragma unroll 8
  for (int step = 0; step < 256; ++step) z = 0.5f * z + x[i];
  y[i] = z;
}


__device__ int never;

__global__ void wait() {
  const long long start = clock64();
  while (*reinterpret_cast<volatile int*>(&never) == 0 && clock64() - start < 100000000000ll) {}
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  wait<<<1, 1, 0, stream>>>();
  decay_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
