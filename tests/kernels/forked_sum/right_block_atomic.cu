// The warps of one block add to each sum, by an atomic that counts for that block only.
#include <cuda_runtime.h>

__global__ void clear(float* y, int rows) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < rows) y[i] = 0;
}

__global__ void halves(const float* x, float* y, int rows, int cols) {
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 256) sum += x[(size_t)blockIdx.x * cols + c];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x % 32 == 0) atomicAdd_block(y + blockIdx.x, sum);
}

extern "C" cudaError_t forked_sum(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  clear<<<(rows + 255) / 256, 256, 0, stream>>>(y, rows);
  halves<<<rows, 256, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
