// Bulk copies of sm_90: with an mbarrier that counts bytes, in bulk groups, reductions, and boxes of tensors by a tensor map.
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include <utility>

#include "self_check.h"

namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Each block: 1,024 numbers in by one copy, one added to each, out by another; a third adds all blocks' up.
__global__ void there_and_back(const int* in, int* out, int* sums) {
  __shared__ alignas(16) int data[1024];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) cuda::memcpy_async(data, in + blockIdx.x * 1024, cuda::aligned_size_t<16>(sizeof data), barrier);
  barrier.arrive_and_wait();
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) data[i] += 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + blockIdx.x * 1024, data, sizeof data);
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sums, data, sizeof data);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

// A tile of 32 x 32, four elements up and to the left: transposed, with a margin of four zeros. Loads may begin outside the tensor, stores may not.
__global__ void turn_tiles(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to, int* phases) {
  __shared__ alignas(128) int tile[32][32];
  __shared__ alignas(128) int turned[32][32];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  for (int round = 0; round < 2; ++round) {
    const int x = static_cast<int>(blockIdx.x) * 32 - 4, y = static_cast<int>(blockIdx.y * 2 + round) * 32 - 4;
    Barrier::arrival_token token;
    if (threadIdx.x == 0) {
      const int at[2] = {x, y};
      ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &from, at, cuda::device::barrier_native_handle(barrier));
      token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof tile);
    } else {
      token = barrier.arrive();
    }
    barrier.wait(std::move(token));
    if (round == 1 && threadIdx.x == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) turned[i % 32][i / 32] = tile[i / 32][i % 32];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      const int at[2] = {y + 4, x + 4};
      ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, at, turned);
      ptx::cp_async_bulk_commit_group();
      atomicAdd(phases, 1);
    }
  }
  if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
}

CUtensorMap map_of(int* data, int rows, int columns) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
  CUtensorMap map;
  const cuuint64_t extents[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)}, strides[1] = {static_cast<cuuint64_t>(columns) * 4};
  const cuuint32_t box[2] = {32, 32}, steps[2] = {1, 1};
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  EXPECT(encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, data, extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return map;
}

int main() {
  int *in = managed<int>(4096), *out = managed<int>(4096), *sums = managed<int>(1024);
  for (int i = 0; i < 4096; ++i) in[i] = i * 7;
  there_and_back<<<4, 128>>>(in, out, sums);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 4096; ++i) EXPECT_EQ(out[i], i * 7 + 1);
  for (int i = 0; i < 1024; ++i) EXPECT_EQ(sums[i], 4 * (i * 7 + 1) + 7 * 1024 * 6);

  const int rows = 84, columns = 72;
  int *image = managed<int>(rows * columns), *turned = managed<int>((rows + 4) * (columns + 4)), *phases = managed<int>();
  for (int i = 0; i < rows * columns; ++i) image[i] = i + 1;
  turn_tiles<<<dim3(3, 2), 64>>>(map_of(image, rows, columns), map_of(turned, columns + 4, rows + 4), phases);
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(*phases, 12);
  for (int y = -4; y < rows; ++y)
    for (int x = -4; x < columns; ++x) EXPECT_EQ(turned[(x + 4) * (rows + 4) + y + 4], x < 0 || y < 0 ? 0 : image[y * columns + x]);
  return finish();
}
