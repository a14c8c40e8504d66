// CUB: warp and block collectives, and the algorithms of a whole device.
#include <cub/cub.cuh>

#include <algorithm>
#include <numeric>
#include <vector>

#include "self_check.h"

struct Longest {
  __host__ __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

__global__ void collectives(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, 128>;
  using Scan = cub::BlockScan<int, 128>;
  using Sort = cub::BlockRadixSort<int, 128, 4>;
  using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  using Warp = cub::WarpReduce<int>;
  __shared__ union {
    Reduce::TempStorage reduce;
    Scan::TempStorage scan;
    Sort::TempStorage sort;
    Load::TempStorage load;
    Store::TempStorage store;
    Warp::TempStorage warp[4];
  } room;
  int items[4];
  Load(room.load).Load(in, items);
  __syncthreads();
  const int sum = Reduce(room.reduce).Sum(items);
  __syncthreads();
  const int most = Reduce(room.reduce).Reduce(items[0], Longest{});
  __syncthreads();
  int before, total;
  Scan(room.scan).ExclusiveSum(items[1], before, total);
  __syncthreads();
  const int of_warp = Warp(room.warp[threadIdx.x / 32]).Sum(items[2]);
  __syncthreads();
  Sort(room.sort).Sort(items);
  __syncthreads();
  Store(room.store).Store(out, items);
  if (threadIdx.x == 0) out[512] = sum, out[513] = most, out[514] = total;
  if (threadIdx.x == 127) out[515] = before;
  if (threadIdx.x % 32 == 0) out[516 + threadIdx.x / 32] = of_warp;
}

template <class F>
void with_room(F algorithm) {
  std::size_t bytes = 0;
  void* room = nullptr;
  CHECK(algorithm(room, bytes));
  CHECK(cudaMalloc(&room, bytes + 1));
  CHECK(algorithm(room, bytes));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(room));
}

int main() {
  const int count = 3000;
  int *in = managed<int>(count), *out = managed<int>(count + 1), *values = managed<int>(count), *moved = managed<int>(count), *size = managed<int>();
  for (int i = 0; i < count; ++i) in[i] = (i * 7919 + 13) % 1009 - 300, values[i] = i;
  collectives<<<1, 128>>>(in, out);
  CHECK(cudaDeviceSynchronize());
  std::vector<int> sorted(in, in + 512);
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < 512; ++i) EXPECT_EQ(out[i], sorted[i]);
  EXPECT_EQ(out[512], std::accumulate(in, in + 512, 0));
  int most = in[0], total = 0;
  for (int t = 0; t < 128; ++t) most = std::max(most, in[4 * t]), total += in[4 * t + 1];
  EXPECT_EQ(out[513], most);
  EXPECT_EQ(out[514], total);
  EXPECT_EQ(out[515], total - in[4 * 127 + 1]);

  with_room([&](void* room, std::size_t& bytes) { return cub::DeviceReduce::Sum(room, bytes, in, out, count); });
  EXPECT_EQ(out[0], std::accumulate(in, in + count, 0));
  with_room([&](void* room, std::size_t& bytes) { return cub::DeviceReduce::Max(room, bytes, in, out, count); });
  EXPECT_EQ(out[0], *std::max_element(in, in + count));
  with_room([&](void* room, std::size_t& bytes) { return cub::DeviceScan::InclusiveSum(room, bytes, in, out, count); });
  for (int i = 0, sum = 0; i < count; ++i) EXPECT_EQ(out[i], sum += in[i]);
  with_room([&](void* room, std::size_t& bytes) { return cub::DeviceRadixSort::SortPairs(room, bytes, in, out, values, moved, count); });
  for (int i = 0; i < count; ++i) EXPECT(in[moved[i]] == out[i] && (i == 0 || out[i - 1] <= out[i]));
  with_room([&](void* room, std::size_t& bytes) { return cub::DeviceRunLengthEncode::Encode(room, bytes, out, moved, values, size, count); });
  int runs = 1;
  for (int i = 1; i < count; ++i) runs += out[i] != out[i - 1];
  EXPECT_EQ(*size, runs);
  EXPECT_EQ(std::accumulate(values, values + runs, 0), count);
  with_room([&](void* room, std::size_t& bytes) { return cub::DeviceSelect::If(room, bytes, in, out, size, count, [] __device__(int x) -> bool { return x % 2 == 0; }); });
  std::vector<int> kept;
  std::copy_if(in, in + count, std::back_inserter(kept), [](int x) { return x % 2 == 0; });
  EXPECT_EQ(*size, kept.size());
  EXPECT(std::equal(kept.begin(), kept.end(), out));
  with_room([&](void* room, std::size_t& bytes) { return cub::DeviceHistogram::HistogramEven(room, bytes, in, out, 11, -300, 700, count); });
  int bins[10] = {};
  for (int i = 0; i < count; ++i)
    if (in[i] >= -300 && in[i] < 700) ++bins[(in[i] + 300) / 100];
  for (int i = 0; i < 10; ++i) EXPECT_EQ(out[i], bins[i]);
  int* offsets = managed<int>(11);
  for (int i = 0; i <= 10; ++i) offsets[i] = i * i * 30;
  with_room([&](void* room, std::size_t& bytes) { return cub::DeviceSegmentedReduce::Sum(room, bytes, in, out, 10, offsets, offsets + 1); });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(out[i], std::accumulate(in + offsets[i], in + offsets[i + 1], 0));
  return finish();
}
