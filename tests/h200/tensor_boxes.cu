// Where the box of a bulk tensor copy may begin: one copy, and what came of it. On a GPU of sm_90:
//   nvcc -std=c++20 -gencode arch=compute_90a,code=sm_90a -o tensor_boxes tensor_boxes.cu; tensor_boxes WIDTH X Y HOW [SWIZZLE]
// Elements of WIDTH bytes, a box of 64 bytes x 8 at column X and row Y of a tensor of 480 bytes x 50; HOW 0: store, 1: add, 2: load. A process a copy: the error stays.
#include <cuda.h>
#include <cuda/ptx>

#include <cstdio>
#include <cstdlib>

namespace ptx = cuda::ptx;

__global__ void copy(const __grid_constant__ CUtensorMap map, int x, int y, int how, unsigned char* out) {
  __shared__ alignas(1024) unsigned char tile[1024];
  __shared__ alignas(8) uint64_t bar;
  const unsigned b = static_cast<unsigned>(__cvta_generic_to_shared(&bar));
  for (int i = threadIdx.x; i < 512; i += blockDim.x) tile[i] = 7;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b));
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  const int at[2] = {x, y};
  if (how == 2) {
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, at, &bar);
      asm volatile("{.reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], 512;}" ::"r"(b) : "memory");
    }
    for (unsigned done = 0; !done;) asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(b) : "memory");
    for (int i = threadIdx.x; i < 512; i += blockDim.x) out[i] = tile[i];
  } else if (threadIdx.x == 0) {
    if (how == 0) ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, at, tile);
    else ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_add, &map, at, tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}

int main(int words, char** v) {
  const int width = atoi(v[1]), x = atoi(v[2]), y = atoi(v[3]), how = atoi(v[4]), swizzle = words > 5 ? atoi(v[5]) : 0;
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found);
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  unsigned char *data, *out;
  cudaMalloc(&data, 512 * 64);
  cudaMalloc(&out, 512);
  cudaMemset(data, how == 2 ? 7 : 0, 512 * 64);
  cudaMemset(out, 0, 512);
  const CUtensorMapDataType type = width == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : width == 2 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : width == 4 ? CU_TENSOR_MAP_DATA_TYPE_INT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  const cuuint64_t extents[2] = {480u / width, 50}, strides[1] = {512};
  const cuuint32_t box[2] = {64u / width, 8}, steps[2] = {1, 1};
  CUtensorMap map;
  const int encoded = encode(&map, type, 2, data, extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(swizzle), CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  copy<<<1, 64>>>(map, x, y, how, out);
  const cudaError_t err = cudaDeviceSynchronize();
  static unsigned char host[512 * 64];
  cudaMemcpy(host, how == 2 ? out : data, how == 2 ? 512 : sizeof host, cudaMemcpyDeviceToHost);
  int count = 0;
  for (const unsigned char byte : host) count += byte == 7;
  printf("%s width %d swizzle %d x %d y %d: encode %d, %s, %d bytes\n", how == 2 ? "load" : how == 1 ? "add" : "store", width, swizzle, x, y, encoded, cudaGetErrorName(err), count);
}
