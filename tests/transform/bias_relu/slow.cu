// The block lies across the rows; literals are double.
#include <cuda_runtime.h>

__global__ void activate(const float* x, const float* bias, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && col < cols) {
    const float v = x[(size_t)row * cols + col] + bias[col];
    y[(size_t)row * cols + col] = v > 0.0 ? v : 0.0;
  }
}

extern "C" cudaError_t bias_relu(const float* x, const float* bias, float* y, int rows, int cols, cudaStream_t stream) {
  dim3 threads(16, 16);
  activate<<<dim3((rows + 15) / 16, (cols + 15) / 16), threads, 0, stream>>>(x, bias, y, rows, cols);
  return cudaGetLastError();
}
