// The output is cleared, then added to.
#include "decay.cuh"

static __global__ void add(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(y + i, decayed(x[i]));
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  cudaMemsetAsync(y, 0, sizeof(float) * n, stream);
  add<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
