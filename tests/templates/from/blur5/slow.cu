// One thread a pixel; x of the block goes down the image.
#include <cuda_runtime.h>

__global__ void blur(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  int c = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= cols) return;
  float sum = 0.0f;
  for (int i = -2; i <= 2; ++i) {
    for (int j = -2; j <= 2; ++j) {
      int near_r = min(max(r + i, 0), rows - 1);
      int near_c = min(max(c + j, 0), cols - 1);
      sum += x[near_r * cols + near_c];
    }
  }
  y[r * cols + c] = sum / 25.0f;
}

extern "C" cudaError_t blur5(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const dim3 block(32, 8);
  const dim3 grid((rows + 31) / 32, (cols + 7) / 8);
  blur<<<grid, block, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
