// Clusters of sm_90: groups of blocks that meet, read and update each other's shared memory, send to it, and share what one of them copies.
#include <cooperative_groups.h>
#include <cuda/ptx>

#include "self_check.h"

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

constexpr int kThreads = 64;

// A histogram whose bins lie in the shared memory of four blocks.
__global__ void __cluster_dims__(4, 1, 1) histogram(const int* values, int count, int* bins) {
  __shared__ int own[16];
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x < 16) own[threadIdx.x] = 0;
  cluster.sync();
  for (unsigned i = cluster.thread_rank(); i < static_cast<unsigned>(count); i += cluster.num_threads()) {
    const int bin = values[i] % 64;
    atomicAdd(cluster.map_shared_rank(own, bin / 16) + bin % 16, 1);
  }
  cluster.sync();
  if (threadIdx.x < 16) atomicAdd(&bins[cluster.block_rank() * 16 + threadIdx.x], own[threadIdx.x]);
}

struct Seen {
  int rank, blocks, x, y, width, height, owner, threads;
};

// What a thread may ask about its cluster, of 2 by 2 blocks when launched.
__global__ void ask(Seen* seen) {
  __shared__ int word;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  int* const other = cluster.map_shared_rank(&word, next);
  if (threadIdx.x == 0) word = 10 + static_cast<int>(cluster.block_rank());
  auto token = cluster.barrier_arrive();
  cluster.barrier_wait(cuda::std::move(token));
  const int there = *other;
  cluster.sync();
  const dim3 at = cluster.block_index(), size = cluster.dim_blocks();
  if (threadIdx.x == 0)
    seen[blockIdx.y * gridDim.x + blockIdx.x] = {there - 10, static_cast<int>(cluster.num_blocks()), static_cast<int>(at.x), static_cast<int>(at.y), static_cast<int>(size.x), static_cast<int>(size.y),
                                                static_cast<int>(cluster.query_shared_rank(other)), static_cast<int>(cluster.num_threads())};
}

__device__ void wait_for(std::uint64_t* barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, barrier, parity)) {
  }
}

// Each block's numbers go to the next one of its pair: by stores that a barrier there counts, by a bulk copy, and by a plain store before an arrival there.
__global__ void __cluster_dims__(2, 1, 1) send(int* stored, int* copied, int* handed) {
  __shared__ alignas(16) int inbox[kThreads], outbox[kThreads], copy[kThreads], plain[kThreads];
  __shared__ std::uint64_t by_stores, by_copy, by_hand;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned other = cluster.block_rank() ^ 1;
  const int own = static_cast<int>(blockIdx.x * 1000 + threadIdx.x), place = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&by_stores, 1);
    ptx::mbarrier_init(&by_copy, 1);
    ptx::mbarrier_init(&by_hand, kThreads);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  outbox[threadIdx.x] = own + 1;
  ptx::fence_proxy_async(ptx::space_shared);
  cluster.sync();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &by_stores, sizeof inbox);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &by_copy, sizeof copy);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, cluster.map_shared_rank(copy, other), outbox, sizeof outbox, cluster.map_shared_rank(&by_copy, other));
  }
  ptx::st_async(cluster.map_shared_rank(inbox, other) + threadIdx.x, own, cluster.map_shared_rank(&by_stores, other));
  cluster.map_shared_rank(plain, other)[threadIdx.x] = own + 2;
  ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, cluster.map_shared_rank(&by_hand, other));
  wait_for(&by_stores, 0);
  stored[place] = inbox[threadIdx.x];
  wait_for(&by_copy, 0);
  copied[place] = copy[threadIdx.x];
  wait_for(&by_hand, 0);
  handed[place] = plain[threadIdx.x ^ 1];
  cluster.sync();
}

// One copy from memory fills the shared memory of every block of the cluster that the mask names.
__global__ void __cluster_dims__(4, 1, 1) share(const int* from, int* out) {
  __shared__ alignas(16) int tile[kThreads];
  __shared__ std::uint64_t barrier;
  cg::cluster_group cluster = cg::this_cluster();
  const bool wanted = cluster.block_rank() != 2;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  cluster.sync();
  if (threadIdx.x == 0 && wanted) ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, sizeof tile);
  if (threadIdx.x == 0 && cluster.block_rank() == 1)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(tile))),
                 "l"(from + blockIdx.x / 4 * kThreads), "r"(static_cast<unsigned>(sizeof tile)), "r"(static_cast<unsigned>(__cvta_generic_to_shared(&barrier))), "h"(static_cast<unsigned short>(0b1011))
                 : "memory");
  if (wanted) {
    wait_for(&barrier, 0);
    out[blockIdx.x * kThreads + threadIdx.x] = tile[threadIdx.x];
  }
  cluster.sync();
}

cudaError_t launch_asking(dim3 grid, dim3 cluster, Seen* seen) {
  cudaLaunchAttribute shape = {};
  shape.id = cudaLaunchAttributeClusterDimension;
  shape.val.clusterDim.x = cluster.x, shape.val.clusterDim.y = cluster.y, shape.val.clusterDim.z = cluster.z;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = grid, launch.blockDim = dim3(kThreads), launch.attrs = &shape, launch.numAttrs = 1;
  void* arguments[] = {&seen};
  return cudaLaunchKernelExC(&launch, reinterpret_cast<const void*>(ask), arguments);
}

int main() {
  int *values = managed<int>(1000), *bins = managed<int>(64);
  int expected[64] = {};
  for (int i = 0; i < 1000; ++i) values[i] = i * i % 997, ++expected[values[i] % 64];
  histogram<<<8, kThreads>>>(values, 1000, bins);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(bins[i], 2 * expected[i]);

  Seen* seen = managed<Seen>(16);
  CHECK(launch_asking({4, 4}, {2, 2, 1}, seen));
  CHECK(cudaDeviceSynchronize());
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x) {
      const Seen& s = seen[y * 4 + x];
      const int rank = x % 2 + y % 2 * 2;
      EXPECT_EQ(s.rank, (rank + 1) % 4);
      EXPECT_EQ(s.owner, (rank + 1) % 4);
      EXPECT_EQ(s.blocks, 4);
      EXPECT_EQ(s.threads, 4 * kThreads);
      EXPECT(s.x == x % 2 && s.y == y % 2 && s.width == 2 && s.height == 2);
    }

  int *stored = managed<int>(4 * kThreads), *copied = managed<int>(4 * kThreads), *handed = managed<int>(4 * kThreads);
  send<<<4, kThreads>>>(stored, copied, handed);
  CHECK(cudaDeviceSynchronize());
  for (int b = 0; b < 4; ++b)
    for (int t = 0; t < kThreads; ++t) {
      EXPECT_EQ(stored[b * kThreads + t], (b ^ 1) * 1000 + t);
      EXPECT_EQ(copied[b * kThreads + t], (b ^ 1) * 1000 + t + 1);
      EXPECT_EQ(handed[b * kThreads + t], (b ^ 1) * 1000 + (t ^ 1) + 2);
    }

  int* out = managed<int>(8 * kThreads);
  share<<<8, kThreads>>>(values, out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 8 * kThreads; ++i) EXPECT_EQ(out[i], i / kThreads % 4 == 2 ? 0 : values[i / (4 * kThreads) * kThreads + i % kThreads]);

  cudaLaunchAttribute shape = {};
  shape.id = cudaLaunchAttributeClusterDimension;
  shape.val.clusterDim.x = 4, shape.val.clusterDim.y = shape.val.clusterDim.z = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = dim3(64), launch.blockDim = dim3(kThreads), launch.attrs = &shape, launch.numAttrs = 1;
  int clusters = 0;
  CHECK(cudaOccupancyMaxActiveClusters(&clusters, ask, &launch));
  EXPECT(clusters > 0);
  return finish();
}
