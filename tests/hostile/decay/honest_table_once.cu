// A table of constants that do not depend on the inputs, computed and copied in the first call.
#include "decay.cuh"

__device__ float weights[33];

static __global__ void weighted(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = weights[32] * x[i];
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static float table[33];
  static bool ready = false;
  if (!ready) {
    table[0] = 0;
    for (int i = 0; i < 32; ++i) table[i + 1] = 0.5f * table[i] + 1.0f;
    cudaMemcpyToSymbolAsync(weights, table, sizeof table, 0, cudaMemcpyHostToDevice, stream);
    ready = true;
  }
  weighted<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
