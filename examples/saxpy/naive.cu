// Right, and slow: each thread walks 32 consecutive elements, so that neighbouring lanes are 128 bytes apart.
#include <cuda_runtime.h>

__global__ void saxpy_runs(const float* x, float* y, int n, float a) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 32;
  for (int i = first; i < first + 32 && i < n; ++i) y[i] = a * x[i] + y[i];
}

extern "C" cudaError_t saxpy(const float* x, float* y, int n, float a, cudaStream_t stream) {
  const int blocks = (n + 128 * 32 - 1) / (128 * 32);
  saxpy_runs<<<blocks, 128, 0, stream>>>(x, y, n, a);
  return cudaGetLastError();
}
