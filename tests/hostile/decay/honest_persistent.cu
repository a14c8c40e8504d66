// Blocks that stay and take their work from a counter, which the last one puts back.
#include "decay.cuh"

__device__ unsigned counter, finished;

static __global__ void take_work(const float* x, float* y, int n) {
  __shared__ unsigned mine;
  for (;;) {
    if (threadIdx.x == 0) mine = atomicAdd(&counter, 1);
    __syncthreads();
    const unsigned first = mine * 256;
    __syncthreads();
    if (first >= static_cast<unsigned>(n)) break;
    const unsigned i = first + threadIdx.x;
    if (i < static_cast<unsigned>(n)) y[i] = decayed(x[i]);
  }
  if (threadIdx.x == 0 && atomicAdd(&finished, 1) == gridDim.x - 1) {
    atomicExch(&counter, 0);
    atomicExch(&finished, 0);
  }
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  if (n <= 0) return cudaSuccess;
  take_work<<<32, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
