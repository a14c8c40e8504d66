// The first warp sums 32 partial sums, but only eight warps have written one.
#include <cfloat>

#include <cuda_runtime.h>

constexpr int kThreads = 256;

__device__ float warp_sum(float v) {
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}

__global__ void softmax_rows(const float* x, float* y, int cols, float scale) {
  x += static_cast<long long>(blockIdx.x) * cols;
  y += static_cast<long long>(blockIdx.x) * cols;
  __shared__ float partial[32];
  __shared__ float total;
  float sum = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) sum += expf(scale * x[col]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    const float all = warp_sum(partial[threadIdx.x]);  // expect: safety.uninitialised
    if (threadIdx.x == 0) total = all;
  }
  __syncthreads();
  for (int col = threadIdx.x; col < cols; col += kThreads) y[col] = expf(scale * x[col]) / total;
}

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  softmax_rows<<<rows, kThreads, 0, stream>>>(x, y, cols, scale);
  return cudaGetLastError();
}
