// Single pass with decoupled look-back: blocks take tickets, publish their aggregate, then their inclusive prefix.
#include <cuda_runtime.h>

constexpr int kThreads = 256, kMaxBlocks = 65536;
__device__ unsigned long long state[kMaxBlocks];  // high word: 1 aggregate, 2 prefix; low word: the value
__device__ unsigned ticket;

__global__ void reset(int blocks) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < blocks) state[i] = 0;
  if (i == 0) ticket = 0;
}

__device__ int warp_scan(int v) {
  for (int o = 1; o < 32; o *= 2) {
    const int other = __shfl_up_sync(0xffffffffu, v, o);
    if (static_cast<int>(threadIdx.x % 32) >= o) v += other;
  }
  return v;
}

__global__ void scan_kernel(const int* x, int* y, int n) {
  __shared__ int warp_total[kThreads / 32];
  __shared__ int block_prefix;
  __shared__ unsigned block;
  if (threadIdx.x == 0) block = atomicAdd(&ticket, 1u);
  __syncthreads();
  const int i = block * kThreads + threadIdx.x;
  int v = warp_scan(i < n ? x[i] : 0);
  if (threadIdx.x % 32 == 31) warp_total[threadIdx.x / 32] = v;
  __syncthreads();
  for (int w = 0; w < static_cast<int>(threadIdx.x / 32); ++w) v += warp_total[w];
  if (threadIdx.x == kThreads - 1) {
    volatile unsigned long long* s = state;
    const auto pack = [](unsigned long long kind, int value) { return kind << 32 | static_cast<unsigned>(value); };
    if (block > 0) s[block] = pack(1, v);
    int prefix = 0;
    for (int b = static_cast<int>(block) - 1; b >= 0;) {
      const unsigned long long seen = s[b];
      if (seen >> 32 == 0) continue;
      prefix += static_cast<int>(seen);
      if (seen >> 32 == 2) break;
      --b;
    }
    s[block] = pack(2, prefix + v);
    block_prefix = prefix;
  }
  __syncthreads();
  if (i < n) y[i] = block_prefix + v;
}

extern "C" cudaError_t scan(const int* x, int* y, int n, cudaStream_t stream) {
  const int blocks = (n + kThreads - 1) / kThreads;
  reset<<<(blocks + 255) / 256, 256, 0, stream>>>(blocks);
  scan_kernel<<<blocks, kThreads, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
