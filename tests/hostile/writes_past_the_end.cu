// Writes one element past the output.
#include <cuda_runtime.h>

__global__ void fill(float* y, long long elements) {
  for (long long i = threadIdx.x; i <= elements; i += blockDim.x) y[i] = 1.0f;  // expect: safety.bounds
}

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  fill<<<1, 256, 0, stream>>>(y, static_cast<long long>(rows) * cols);
  return cudaGetLastError();
}
