// A thread a row of the matrix.
#include <cuda_runtime.h>

#define THREADS 256

__global__ void times(const float* a, const float* x, float* y, int rows, int cols) {
  const unsigned r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0.f;
  for (int c = 0; c < cols; ++c) {
    sum += a[(size_t)r * cols + c] * x[c];
  }
  y[r] = sum;
}

extern "C" cudaError_t matrix_vector(const float* a, const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  times<<<(rows + THREADS - 1) / THREADS, THREADS, 0, stream>>>(a, x, y, rows, cols);
  return cudaGetLastError();
}
