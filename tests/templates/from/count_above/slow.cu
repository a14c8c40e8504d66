// One atomic for each element that is above it.
#include <cuda_runtime.h>

__global__ void clear(int* y) { y[0] = 0; }

__global__ void count(const float* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(y, x[i] > 0.5f ? 1 : 0);
}

extern "C" cudaError_t count_above(const float* x, int* y, int n, cudaStream_t stream) {
  clear<<<1, 1, 0, stream>>>(y);
  count<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
