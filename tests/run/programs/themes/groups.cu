// Cooperative groups: tiles of every size, coalesced and partitioned groups, collectives, grid synchronisation, copies.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "self_check.h"

namespace cg = cooperative_groups;

template <int kSize>
__device__ void use_tile(int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<kSize>(block);
  int value = block.thread_rank();
  const int first = tile.shfl(value, 0);
  value = cg::reduce(tile, value, cg::plus<int>());
  if (tile.thread_rank() == 0) atomicAdd(&out[0], value);
  if (tile.any(first != static_cast<int>(tile.meta_group_rank()) * kSize)) atomicAdd(&out[1], 1);
  if (tile.meta_group_size() != block.size() / kSize) atomicAdd(&out[1], 1);
  if (tile.all(tile.shfl_up(block.thread_rank(), 1) <= block.thread_rank()) == 0) atomicAdd(&out[1], 1);
}

__global__ void tiles(int* out) {
  use_tile<1>(out);
  use_tile<2>(out + 2);
  use_tile<4>(out + 4);
  use_tile<8>(out + 6);
  use_tile<16>(out + 8);
  use_tile<32>(out + 10);
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const auto inner = cg::tiled_partition<4>(tile);
  out[12 + threadIdx.x] = inner.shfl_down(static_cast<int>(threadIdx.x), 2) * 100 + static_cast<int>(inner.meta_group_rank());
}

__global__ void collectives(int* out, double* reals) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  const int t = block.thread_rank(), n = block.size();
  out[t] = cg::inclusive_scan(tile, t);
  out[n + t] = cg::exclusive_scan(tile, 1);
  out[2 * n + t] = cg::reduce(tile, t, cg::greater<int>());
  out[3 * n + t] = cg::reduce(tile, t, cg::less<int>());
  out[4 * n + t] = cg::reduce(tile, t, [](int a, int b) { return a ^ b; });
  out[5 * n + t] = cg::inclusive_scan(tile, t % 7, cg::greater<int>());
  reals[t] = cg::reduce(tile, t * 0.5, cg::plus<double>());
  const auto odd = cg::binary_partition(tile, t % 2 == 1);
  out[6 * n + t] = cg::reduce(odd, t, cg::plus<int>());
  const auto labeled = cg::labeled_partition(tile, t % 5);
  out[7 * n + t] = labeled.size() * 100 + labeled.thread_rank();
  int value = -1;
  if (t % 3 == 0) {
    const auto here = cg::coalesced_threads();
    value = here.size() * 100 + here.thread_rank();
    value += 10000 * here.shfl(t, 1);
  }
  out[8 * n + t] = value;
  cg::invoke_one(block, [&] { out[9 * n] = 321; });
}

// Tiles of several warps meet in memory that the system keeps for them.
__global__ void wide_tiles(int* out) {
#if __CUDA_ARCH__ >= 800
  const auto tile = cg::tiled_partition<64>(cg::this_thread_block());
  const int sum = cg::reduce(tile, static_cast<int>(threadIdx.x), cg::plus<int>());
  tile.sync();
  out[threadIdx.x] = sum + cg::exclusive_scan(tile, 1) + 10000 * static_cast<int>(tile.meta_group_rank());
#endif
}

constexpr int kBig = 256;
__global__ void grid_rounds(int* data, int count, int rounds) {
  const cg::grid_group grid = cg::this_grid();
  for (int round = 0; round < rounds; ++round) {
    const int from = (round % 2) * count, to = count - from;
    for (int i = grid.thread_rank(); i < count; i += grid.size()) data[to + i] = data[from + (i + 1) % count] + 1;
    grid.sync();
  }
  if (grid.thread_rank() == 0) data[2 * count] = grid.num_blocks() * 1000 + grid.group_dim().x;
}

__global__ void copies(const int* in, int* out, int count) {
  __shared__ int stage[2][kBig];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, stage[0], in, sizeof(int) * kBig);
  for (int part = 1; part <= count; ++part) {
    if (part < count) {
      cg::memcpy_async(block, stage[part % 2], in + part * kBig, sizeof(int) * kBig);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    for (int i = block.thread_rank(); i < kBig; i += block.size()) out[(part - 1) * kBig + i] = stage[(part - 1) % 2][kBig - 1 - i];
    block.sync();
  }
}

__global__ void split_barrier(int* out) {
  __shared__ int values[128];
  auto block = cg::this_thread_block();
  values[threadIdx.x] = threadIdx.x * 3;
  auto token = block.barrier_arrive();
  const int own = threadIdx.x;
  block.barrier_wait(std::move(token));
  out[threadIdx.x] = values[127 - threadIdx.x] + own;
}

int main() {
  int* out = managed<int>(4096);
  double* reals = managed<double>(128);
  tiles<<<1, 128>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < 6; ++k) {
    EXPECT_EQ(out[2 * k], 128 * 127 / 2);
    EXPECT_EQ(out[2 * k + 1], 0);
  }
  for (int t = 0; t < 128; ++t) EXPECT_EQ(out[12 + t], (t % 4 < 2 ? t + 2 : t) * 100 + t % 32 / 4);
  const int n = 64;
  collectives<<<1, n>>>(out, reals);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < n; ++t) {
    const int base = t / 32 * 32;
    int sum = 0, parity = 0, parity_of_kind = 0, most = 0, alike = 0, before = 0;
    for (int i = base; i < base + 32; ++i) {
      if (i <= t) sum += i, most = std::max(most, i % 7);
      parity ^= i;
      if (i % 2 == t % 2) parity_of_kind += i;
      if (i % 5 == t % 5) ++alike, before += i < t;
    }
    EXPECT_EQ(out[t], sum);
    EXPECT_EQ(out[n + t], t % 32);
    EXPECT_EQ(out[2 * n + t], base + 31);
    EXPECT_EQ(out[3 * n + t], base);
    EXPECT_EQ(out[4 * n + t], parity);
    EXPECT_EQ(out[5 * n + t], most);
    EXPECT_EQ(reals[t], (base * 32 + 496) * 0.5);
    EXPECT_EQ(out[6 * n + t], parity_of_kind);
    EXPECT_EQ(out[7 * n + t], alike * 100 + before);
    if (t % 3 == 0) {
      int here = 0, mine = 0, second = -1;
      for (int i = base; i < base + 32; ++i)
        if (i % 3 == 0) {
          if (here == 1) second = i;
          if (i < t) ++mine;
          ++here;
        }
      EXPECT_EQ(out[8 * n + t], here * 100 + mine + 10000 * second);
    } else {
      EXPECT_EQ(out[8 * n + t], -1);
    }
  }
  EXPECT_EQ(out[9 * n], 321);

  int count = 1000, rounds = 6, blocks = 0, processors = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, grid_rounds, 128, 0));
  CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  EXPECT(blocks > 0 && processors > 0);
  int* data = managed<int>(2 * count + 1);
  for (int i = 0; i < count; ++i) data[i] = i * i;
  void* arguments[] = {&data, &count, &rounds};
  CHECK(cudaLaunchCooperativeKernel(grid_rounds, dim3(6), dim3(128), arguments, 0, nullptr));
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < count; ++i) EXPECT_EQ(data[i], (i + rounds) % count * ((i + rounds) % count) + rounds);
  EXPECT_EQ(data[2 * count], 6006);

  int *in = managed<int>(4 * kBig), *reversed = managed<int>(4 * kBig);
  for (int i = 0; i < 4 * kBig; ++i) in[i] = i * 3 + 1;
  copies<<<1, 64>>>(in, reversed, 4);
  split_barrier<<<1, 128>>>(out);
  int major = 0;
  CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major >= 8) wide_tiles<<<1, 128>>>(out + 128);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 128 && major >= 8; ++t) EXPECT_EQ(out[128 + t], (t < 64 ? 2016 : 6112) + t % 64 + 10000 * (t / 64));
  for (int i = 0; i < 4 * kBig; ++i) EXPECT_EQ(reversed[i], in[i / kBig * kBig + kBig - 1 - i % kBig]);
  for (int t = 0; t < 128; ++t) EXPECT_EQ(out[t], (127 - t) * 3 + t);
  return finish();
}
