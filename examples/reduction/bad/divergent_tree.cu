// The tree keeps every second, fourth, eighth thread: its warps run nearly empty, and their strides meet in the banks.
#include <cuda_runtime.h>

constexpr int kThreads = 256;

__global__ void clear(float* total) { *total = 0.0f; }

__global__ void __launch_bounds__(kThreads) sum_tree(const float* x, float* total, int n) {
  __shared__ float s[kThreads];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int stride = 1; stride < kThreads; stride *= 2) {
    const int at = 2 * stride * threadIdx.x;
    if (at < kThreads) s[at] += s[at + stride];  // expect: shared.banks
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(total, s[0]);
}

extern "C" cudaError_t reduction(const float* x, float* total, int n, cudaStream_t stream) {
  clear<<<1, 1, 0, stream>>>(total);
  sum_tree<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(x, total, n);
  return cudaGetLastError();
}
