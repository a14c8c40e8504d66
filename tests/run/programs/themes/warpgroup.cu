// wgmma (sm_90a): products of a warpgroup from swizzled shared memory that tensor maps fill, operands along and across the depth, A from registers.
#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "self_check.h"

constexpr int kM = 64, kN = 64, kK = 64;

__device__ unsigned place(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ std::uint64_t describe(unsigned at) { return static_cast<std::uint64_t>((at & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62; }

#define SUMS(d)                                                                                                                                                              \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), \
      "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),            \
      "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define LIST "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"

template <int kAcross>
__device__ void multiply(float (&d)[32], std::uint64_t a, std::uint64_t b, int adds) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " LIST ", %32, %33, p, 1, 1, 0, %35;\n}\n"
               : SUMS(d)
               : "l"(a), "l"(b), "r"(adds), "n"(kAcross));
}
__device__ void multiply_registers(float (&d)[32], const unsigned (&a)[4], std::uint64_t b, int adds) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " LIST ", {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}\n"
               : SUMS(d)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

// kMode: 0 B as [k][n], 1 B as [n][k], 2 A from registers and B as [k][n].
template <int kMode>
__global__ void __launch_bounds__(128) product(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, const __half* a, float* out) {
  __shared__ alignas(1024) __half a_tile[kM * kK];
  __shared__ alignas(1024) __half b_tile[kN * kK];
  __shared__ alignas(8) std::uint64_t barrier;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(place(&barrier)) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place(&barrier)), "r"(2 * 8192) : "memory");
    for (int i = 0; i < 2; ++i)
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(place(i ? b_tile : a_tile)), "l"(i ? &b_map : &a_map), "r"(0),
                   "r"(0), "r"(place(&barrier))
                   : "memory");
  }
  __syncthreads();
  asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n@!done bra AGAIN;\n}\n" ::"r"(place(&barrier)) : "memory");
  float sum[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned fragments[kK / 16][4];
  if constexpr (kMode == 2)
    for (int d = 0; d < kK / 16; ++d)
      for (int j = 0; j < 4; ++j) {
        const int row = warp * 16 + lane / 4 + j % 2 * 8, column = d * 16 + lane % 4 * 2 + j / 2 * 8;
        fragments[d][j] = *reinterpret_cast<const unsigned*>(a + row * kK + column);
      }
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int d = 0; d < kK / 16; ++d) {
    const std::uint64_t left = describe(place(a_tile)) + d * 2, right = describe(place(b_tile)) + d * (kMode == 1 ? 2 : 128);
    if constexpr (kMode == 2) multiply_registers(sum, fragments[d], right, d > 0);
    else multiply<kMode == 1 ? 0 : 1>(sum, left, right, d > 0);
  }
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 32; ++i) out[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * kN + i / 4 * 8 + lane % 4 * 2 + i % 2] = sum[i];
}

CUtensorMap map_of(__half* data) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
  CUtensorMap map;
  const cuuint64_t extents[2] = {64, 64}, strides[1] = {128};
  const cuuint32_t box[2] = {64, 64}, steps[2] = {1, 1};
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  EXPECT(encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, data, extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return map;
}

int main() {
  __half *a = managed<__half>(kM * kK), *b = managed<__half>(kN * kK);
  float* out = managed<float>(kM * kN);
  for (int i = 0; i < kM * kK; ++i) a[i] = __float2half(static_cast<float>((i * 37 + i / 64) % 17 - 8)), b[i] = __float2half(static_cast<float>((i * 53 + i / 64 * 5) % 13 - 6));
  for (int mode = 0; mode < 3; ++mode) {
    const auto kernel = mode == 0 ? product<0> : mode == 1 ? product<1> : product<2>;
    kernel<<<1, 128>>>(map_of(a), map_of(b), a, out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < kM; ++i)
      for (int j = 0; j < kN; ++j) {
        float expected = 0;   // small integers: exact
        for (int l = 0; l < kK; ++l) expected += __half2float(a[i * kK + l]) * __half2float(mode == 1 ? b[j * kK + l] : b[l * kN + j]);
        EXPECT_EQ(out[i * kN + j], expected);
      }
  }
  return finish();
}
