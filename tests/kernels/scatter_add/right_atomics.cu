// A thread an element; equal indices meet in an atomic.
#include <cuda_runtime.h>

__global__ void scatter(const int* index, const float* x, float* table, int n, int cols) {
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n * cols; k += gridDim.x * blockDim.x)
    atomicAdd(&table[(size_t)index[k / cols] * cols + k % cols], x[k]);
}

extern "C" cudaError_t scatter_add(const int* index, const float* x, float* table, int n, int cols, int rows, cudaStream_t stream) {
  scatter<<<32, 256, 0, stream>>>(index, x, table, n, cols);
  return cudaGetLastError();
}
