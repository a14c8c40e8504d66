// One thread a window.
#include <cuda_runtime.h>

__global__ void halve(const float* x, float* y, int rows, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * cols) return;
  int r = i % rows;
  int c = i / rows;
  const float* corner = x + 2 * r * (2 * cols) + 2 * c;
  y[r * cols + c] = 0.25f * (corner[0] + corner[1] + corner[2 * cols] + corner[2 * cols + 1]);
}

extern "C" cudaError_t pool(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  halve<<<(rows * cols + 255) / 256, 256, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
