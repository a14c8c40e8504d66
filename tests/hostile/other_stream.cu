// Works on a stream of its own that the caller does not wait for.
#include <cuda_runtime.h>

__global__ void zero(float* y, long long elements) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < elements) y[i] = 0.0f;
}

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  cudaStream_t own;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  const long long elements = static_cast<long long>(rows) * cols;
  zero<<<static_cast<unsigned>((elements + 255) / 256), 256, 0, own>>>(y, elements);  // expect: interface
  return cudaGetLastError();
}
