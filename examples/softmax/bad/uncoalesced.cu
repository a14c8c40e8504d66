// Each thread walks a contiguous piece of the row, so that neighbouring lanes are a piece apart.
#include <cfloat>

#include <cuda_runtime.h>

constexpr int kThreads = 256;

__device__ float block_reduce(float value, bool maximum) {
  __shared__ float s[kThreads];
  __syncthreads();
  s[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const float a = s[threadIdx.x], b = s[threadIdx.x + half];
      s[threadIdx.x] = maximum ? fmaxf(a, b) : a + b;
    }
    __syncthreads();
  }
  return s[0];
}

__global__ void softmax_rows(const float* x, float* y, int cols, float scale) {
  x += static_cast<long long>(blockIdx.x) * cols;
  y += static_cast<long long>(blockIdx.x) * cols;
  const int piece = (cols + kThreads - 1) / kThreads;
  const int begin = threadIdx.x * piece, end = min(begin + piece, cols);
  float largest = -FLT_MAX;
  for (int col = begin; col < end; ++col) largest = fmaxf(largest, scale * x[col]);  // expect: memory.coalescing
  largest = block_reduce(largest, true);
  float sum = 0.0f;
  for (int col = begin; col < end; ++col) sum += expf(scale * x[col] - largest);
  sum = block_reduce(sum, false);
  for (int col = begin; col < end; ++col) y[col] = expf(scale * x[col] - largest) / sum;
}

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  softmax_rows<<<rows, kThreads, 0, stream>>>(x, y, cols, scale);
  return cudaGetLastError();
}
