// Warp and block cooperation: votes, shuffles, match, reduce, named barriers, cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

__global__ void primitives(unsigned* p, unsigned long long* q, double* d, int n) {
  const unsigned lane = threadIdx.x & 31;
  p[0] = __ballot_sync(~0u, p[lane] > 3) + __any_sync(~0u, p[1]) + __all_sync(0xFFFF, p[2]) + __activemask();
  p[1] = __shfl_sync(~0u, p[lane], n) + __shfl_up_sync(~0u, p[lane], 1) + __shfl_down_sync(~0u, p[lane], 2, 16) + __shfl_xor_sync(~0u, p[lane], 4);
  q[0] = __shfl_sync(~0u, q[lane], n); d[0] = __shfl_xor_sync(~0u, d[lane], 8);
  p[2] = __match_any_sync(~0u, p[lane]) + __match_any_sync(~0u, q[lane]);
  int all = 0;
  p[3] = __match_all_sync(~0u, p[lane], &all) + all + __fns(p[0], 3, n);
  __syncwarp(); __syncwarp(0xFF);
  p[4] = __syncthreads_count(n > 3) + __syncthreads_and(n) + __syncthreads_or(n);
  asm volatile("bar.sync 3, 64;\n bar.arrive 4, 64;\n barrier.sync.aligned 5;\n barrier.sync 6, %0;" ::"r"(n & ~31));
#if __CUDA_ARCH__ >= 800
  p[5] = __reduce_add_sync(~0u, p[lane]) + __reduce_max_sync(~0u, p[lane]) + __reduce_xor_sync(~0u, p[lane]);
  p[6] = __reduce_min_sync(~0u, int(p[lane]));
#endif
  unsigned m;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(m));
  p[7] = m + __popc(m);
}
__global__ void groups(float* x, int n) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  auto warp = cg::tiled_partition<32>(block);
  float v = cg::reduce(warp, x[block.thread_rank()], cg::plus<float>());
  int s = cg::inclusive_scan(tile, int(v), cg::plus<int>());
  if (x[0] > v) {
    auto active = cg::coalesced_threads();
    s += active.thread_rank() + active.shfl(s, 0) + active.ballot(s > 3);
    active.sync();
  }
  auto labelled = cg::labeled_partition(warp, s & 3);
  x[1] = v + s + labelled.size() + cg::binary_partition(tile, s > 1).size();
  block.sync();
  cg::grid_group grid = cg::this_grid();
  grid.sync();
  x[2] = grid.thread_rank() + block.group_index().x + n;
}
