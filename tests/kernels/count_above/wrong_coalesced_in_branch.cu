// A tile's reduction in a branch that some of its lanes take.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__global__ void clear(unsigned long long* count, unsigned long long* sum) { *count = *sum = 0; }

__global__ void kernel(const int* x, unsigned long long* count, unsigned long long* sum, long long n, int limit) {
  const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
  const cg::grid_group grid = cg::this_grid();
  int kept = 0;
  long long total = 0;
  for (long long i = grid.thread_rank(); i < n; i += grid.size())
    if (x[i] > limit) { ++kept; total += x[i]; }
  if (kept > 0) kept = cg::reduce(warp, kept, cg::plus<int>());  // expect: safety.barriers
  for (int o = warp.size() / 2; o > 0; o /= 2) total += warp.shfl_down(total, o);
  if (warp.thread_rank() == 0) {
    atomicAdd(count, (unsigned long long)kept);
    atomicAdd(sum, (unsigned long long)total);
  }
}

extern "C" cudaError_t count_above(const int* x, long long* count, long long* sum, long long n, int limit, cudaStream_t stream) {
  clear<<<1, 1, 0, stream>>>((unsigned long long*)count, (unsigned long long*)sum);
  kernel<<<40, 256, 0, stream>>>(x, (unsigned long long*)count, (unsigned long long*)sum, n, limit);
  return cudaGetLastError();
}
