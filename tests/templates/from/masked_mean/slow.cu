// One thread a row; columns that are not chosen are left out.
#include <cuda_runtime.h>

__global__ void mean_of_chosen(const float* x, const int* mask, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  int count = 0;
  for (int c = 0; c < cols; ++c) {
    // chosen columns only
    if (mask[c] != 0) {
      sum += x[row * cols + c];
      count += 1;
    }
  }
  y[row] = count > 0 ? sum / count : 0.0f;
}

extern "C" cudaError_t masked_mean(const float* x, const int* mask, float* y, int rows, int cols, cudaStream_t stream) {
  mean_of_chosen<<<(rows + 127) / 128, 128, 0, stream>>>(x, mask, y, rows, cols);
  return cudaGetLastError();
}
