// The counter is not set back: the second call finds no last block.
#include <cuda_runtime.h>

constexpr int kThreads = 256, kBlocks = 512;
__device__ float partial[kBlocks];
__device__ unsigned arrived = 0;

__device__ float block_sum(float v) {
  __shared__ float s[kThreads / 32];
  for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x < kThreads / 32 ? s[threadIdx.x] : 0.0f;
  if (threadIdx.x < 32)
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o);
  __syncthreads();
  return v;
}

__global__ void sum_kernel(const float* x, float* total, int n) {
  __shared__ bool last;
  float v = 0.0f;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += kBlocks * kThreads) v += x[i];
  v = block_sum(v);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = v;
    __threadfence();
    last = atomicAdd(&arrived, 1u) == kBlocks - 1;
  }
  __syncthreads();
  if (!last) return;
  v = 0.0f;
  for (int i = threadIdx.x; i < kBlocks; i += kThreads) v += __ldcg(&partial[i]);
  v = block_sum(v);
  if (threadIdx.x == 0) {
    *total = v;  // expect-contract: launch.coverage

  }
}

extern "C" cudaError_t sum(const float* x, float* total, int n, cudaStream_t stream) {
  sum_kernel<<<kBlocks, kThreads, 0, stream>>>(x, total, n);
  return cudaGetLastError();
}
