// Half of the block waits at a barrier that the other half never reaches.
#include <cfloat>

#include <cuda_runtime.h>

constexpr int kThreads = 256;

__global__ void softmax_rows(const float* x, float* y, int cols, float scale) {
  x += static_cast<long long>(blockIdx.x) * cols;
  y += static_cast<long long>(blockIdx.x) * cols;
  __shared__ float s[kThreads];
  float sum = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) sum += expf(scale * x[col]);
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const float other = s[threadIdx.x + half];
      s[threadIdx.x] += other;
      __syncthreads();  // expect: safety.barriers
    }
  }
  for (int col = threadIdx.x; col < cols; col += kThreads) y[col] = expf(scale * x[col]) / s[0];
}

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  softmax_rows<<<rows, kThreads, 0, stream>>>(x, y, cols, scale);
  return cudaGetLastError();
}
