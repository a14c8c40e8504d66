// Threads sum vectors of four, warps by shuffles, blocks through shared memory; the block that arrives last adds the blocks' sums in a
// fixed order, so that equal inputs give equal bits.
#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kMaxBlocks = 1024;

__device__ float block_sums[kMaxBlocks];
__device__ unsigned arrived = 0;

__device__ float sum_block(float value, float* partial) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = partial[threadIdx.x % kWarps];
  for (int offset = kWarps / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

__global__ void __launch_bounds__(kThreads) sum_vectors(const float* __restrict__ x, float* __restrict__ total, int n) {
  __shared__ float partial[kWarps], last_partial[kWarps];
  __shared__ bool is_last;
  float sum = 0.0f;
  const int step = gridDim.x * kThreads;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n / 4; i += step) {
    const float4 v = reinterpret_cast<const float4*>(x)[i];
    sum += v.x + v.y + (v.z + v.w);
  }
  if (blockIdx.x == 0 && threadIdx.x < n % 4) sum += x[n / 4 * 4 + threadIdx.x];
  sum = sum_block(sum, partial);
  if (threadIdx.x == 0) {
    block_sums[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicAdd(&arrived, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
  sum = 0.0f;
  for (int b = threadIdx.x; b < gridDim.x; b += kThreads) sum += block_sums[b];
  sum = sum_block(sum, last_partial);
  if (threadIdx.x == 0) {
    *total = sum;
    arrived = 0;
  }
}

}  // namespace

extern "C" cudaError_t reduction(const float* x, float* total, int n, cudaStream_t stream) {
  const int wanted = (n / 4 + kThreads - 1) / kThreads;
  const int blocks = wanted < 1 ? 1 : wanted < kMaxBlocks ? wanted : kMaxBlocks;
  sum_vectors<<<blocks, kThreads, 0, stream>>>(x, total, n);
  return cudaGetLastError();
}
