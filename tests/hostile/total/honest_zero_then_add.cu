// The output is cleared by a copy engine's fill, then added to atomically.
#include <cuda_runtime.h>

static __global__ void add(const float* x, float* y, int n) {
  float mine = 0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) mine += x[i];
  for (int step = 16; step > 0; step /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, step);
  if (threadIdx.x % 32 == 0) atomicAdd(y, mine);
}

extern "C" cudaError_t total(const float* x, float* y, int n, cudaStream_t stream) {
  cudaMemsetAsync(y, 0, sizeof(float), stream);
  add<<<32, 128, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
