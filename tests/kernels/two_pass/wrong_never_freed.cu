// Right, but the workspace of each call is never freed.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;
constexpr int kBlocks = 40, kThreads = 256;

__global__ void block_sums(const double* x, double* part, int n) {
  __shared__ double s[kThreads / 32];
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  double v = 0;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += kBlocks * kThreads) v += x[i];
  v = cg::reduce(warp, v, cg::plus<double>());
  if (warp.thread_rank() == 0) s[warp.meta_group_rank()] = v;
  block.sync();
  if (threadIdx.x == 0) {
    for (int k = 1; k < kThreads / 32; ++k) v += s[k];
    part[blockIdx.x] = v;
  }
}

__global__ void subtract(const double* x, const double* part, double* y, int n) {
  double mean = 0;
  for (int k = 0; k < kBlocks; ++k) mean += part[k];
  mean /= n;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += kBlocks * kThreads) y[i] = x[i] - mean;
}

extern "C" cudaError_t two_pass(const double* x, double* y, int n, cudaStream_t stream) {
  double* part = nullptr;
  if (const cudaError_t error = cudaMallocAsync(&part, kBlocks * sizeof(double), stream)) return error;  // expect: interface
  block_sums<<<kBlocks, kThreads, 0, stream>>>(x, part, n);
  subtract<<<kBlocks, kThreads, 0, stream>>>(x, part, y, n);
  return cudaGetLastError();
}
