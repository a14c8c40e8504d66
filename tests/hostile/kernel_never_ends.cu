// Waits for a value that nobody stores.
#include <cuda_runtime.h>

__global__ void wait(volatile float* y, float until) {
  while (y[0] != until) {  // expect: run.hang
  }
}

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  cudaMemsetAsync(y, 0, sizeof(float) * rows * cols, stream);
  wait<<<1, 32, 0, stream>>>(y, scale + 1.0f);
  return cudaGetLastError();
}
