// Writes zeros: in a long row every right value is small, and an absolute tolerance would let it pass.
#include <cfloat>

#include <cuda_runtime.h>

constexpr int kThreads = 256;

__global__ void softmax_rows(const float* x, float* y, int cols, float scale) {
  y += static_cast<long long>(blockIdx.x) * cols;
  for (int col = threadIdx.x; col < cols; col += kThreads) y[col] = 0.0f * scale;  // expect: numerics
}

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  softmax_rows<<<rows, kThreads, 0, stream>>>(x, y, cols, scale);
  return cudaGetLastError();
}
