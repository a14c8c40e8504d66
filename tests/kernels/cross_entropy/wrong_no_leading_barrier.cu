// The barrier that protects the partial results of the reduction before is missing.
#include <cuda_runtime.h>

constexpr int kThreads = 128;
constexpr unsigned kAll = 0xffffffffu;

template <typename Op>
__device__ float block_reduce(float v, float* partial, Op op) {
#pragma unroll
  for (int o = 16; o; o >>= 1) v = op(v, __shfl_down_sync(kAll, v, o));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;  // expect: safety.races
  __syncthreads();
  v = partial[0];
#pragma unroll
  for (int w = 1; w < kThreads / 32; ++w) v = op(v, partial[w]);
  return v;
}

__global__ void __launch_bounds__(kThreads) kernel(const float* __restrict__ x, const int* __restrict__ label, float* loss, float* grad, int classes) {
  __shared__ float partial[kThreads / 32];
  const float* row = x + (size_t)blockIdx.x * classes;
  float top = -INFINITY;
  for (int c = threadIdx.x; c < classes; c += kThreads) top = fmaxf(top, row[c]);
  top = block_reduce(top, partial, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0;
  for (int c = threadIdx.x; c < classes; c += kThreads) sum += expf(row[c] - top);
  sum = block_reduce(sum, partial, [](float a, float b) { return a + b; });
  const int right = label[blockIdx.x];
  if (threadIdx.x == 0) loss[blockIdx.x] = top + logf(sum) - row[right];
  const float scale = 1.0f / sum;
  for (int c = threadIdx.x; c < classes; c += kThreads) grad[(size_t)blockIdx.x * classes + c] = expf(row[c] - top) * scale - (c == right ? 1.0f : 0.0f);
}

extern "C" cudaError_t cross_entropy(const float* x, const int* label, float* loss, float* grad, int rows, int classes, cudaStream_t stream) {
  kernel<<<rows, kThreads, 0, stream>>>(x, label, loss, grad, classes);
  return cudaGetLastError();
}
