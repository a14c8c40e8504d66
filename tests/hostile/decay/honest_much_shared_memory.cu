// Dynamic shared memory beyond 48 KiB, opted into.
#include "decay.cuh"

static __global__ void staged(const float* x, float* y, int n) {
  extern __shared__ float tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) tile[20000 + threadIdx.x] = x[i];
  __syncthreads();
  if (i < n) y[i] = decayed(tile[20000 + threadIdx.x]);
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static bool asked = false;
  if (!asked) cudaFuncSetAttribute(staged, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
  asked = true;
  staged<<<(n + 255) / 256, 256, 100 << 10, stream>>>(x, y, n);
  return cudaGetLastError();
}
