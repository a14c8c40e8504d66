// A table in constant memory, copied there in each call.
#include "decay.cuh"

__constant__ float factors[2];

static __global__ void by_table(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float z = 0;
  for (int step = 0; step < 256; ++step) z = factors[0] * z + factors[1] * x[i];
  y[i] = z;
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static const float table[2] = {0.5f, 1.0f};
  cudaMemcpyToSymbolAsync(factors, table, sizeof table, 0, cudaMemcpyHostToDevice, stream);
  by_table<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
