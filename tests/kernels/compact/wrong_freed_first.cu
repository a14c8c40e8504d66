// The workspace is freed before the last kernel that reads it.
#include <cuda_runtime.h>

constexpr int kThreads = 256, kMost = 1024;

__global__ void count_kernel(const int* x, int* counts, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int kept = __syncthreads_count(i < n && x[i] > 0);
  if (threadIdx.x == 0) counts[blockIdx.x] = kept;
}

__global__ void offset_kernel(int* counts, int* count, int blocks) {
  __shared__ int sums[kMost];
  int before = 0;
  for (int base = 0; base < blocks; base += kMost) {
    const int i = base + threadIdx.x;
    const int mine = i < blocks ? counts[i] : 0;
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (int o = 1; o < kMost; o *= 2) {
      const int v = threadIdx.x >= o ? sums[threadIdx.x - o] : 0;
      __syncthreads();
      sums[threadIdx.x] += v;
      __syncthreads();
    }
    if (i < blocks) counts[i] = before + sums[threadIdx.x] - mine;
    before += sums[kMost - 1];
    __syncthreads();
  }
  if (threadIdx.x == 0) *count = before;
}

__global__ void write_kernel(const int* x, const int* offsets, const int* count, int* y, int n) {
  __shared__ int warps[kThreads / 32];
  const int i = blockIdx.x * kThreads + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int v = i < n ? x[i] : 0;
  const unsigned votes = __ballot_sync(0xffffffffu, v > 0);
  if (lane == 0) warps[warp] = __popc(votes);
  __syncthreads();
  int at = offsets[blockIdx.x] + __popc(votes & ((1u << lane) - 1));  // expect: safety.bounds
  for (int w = 0; w < warp; ++w) at += warps[w];
  if (v > 0) y[at] = v;
  if (i < n && i >= *count) y[i] = 0;
}

extern "C" cudaError_t compact(const int* x, int* y, int* count, int n, cudaStream_t stream) {
  const int blocks = (n + kThreads - 1) / kThreads;
  int* counts = nullptr;
  cudaError_t error = cudaMallocAsync(&counts, blocks * sizeof(int), stream);
  if (error != cudaSuccess) return error;
  count_kernel<<<blocks, kThreads, 0, stream>>>(x, counts, n);
  offset_kernel<<<1, kMost, 0, stream>>>(counts, count, blocks);
  const cudaError_t freed = cudaFreeAsync(counts, stream);
  write_kernel<<<blocks, kThreads, 0, stream>>>(x, counts, count, y, n);
  error = cudaGetLastError();
  return error != cudaSuccess ? error : freed;
}
