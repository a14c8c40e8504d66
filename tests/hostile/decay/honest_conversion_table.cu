// A table in constant memory that is refreshed on the stream in each call from the host's memory.
#include "decay.cuh"
__constant__ float half_of[2];
static __global__ void by_table(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float z = 0;
  for (int step = 0; step < 256; ++step) z = half_of[step & 1] * z + x[i];
  y[i] = z;
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static const float table[2] = {0.5f, 0.5f};
  cudaMemcpyToSymbolAsync(half_of, table, sizeof table, 0, cudaMemcpyHostToDevice, stream);
  if (n > 0) by_table<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
