// C = A * B, row-major, f16 or bf16, sums in f32, for sm_90a: TMA into 128-byte-swizzled shared memory, wgmma from there, one producer warp and two
// consumer warpgroups per block, blocks that stay, clusters of two along the rows that share the tile of B by multicast, output through shared
// memory and TMA. n and k are multiples of 8; any m.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstring>

#ifndef TYPE
#define TYPE __half
#endif
#ifndef GROUP
#define GROUP 8
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef TILE_N
#define TILE_N 256
#endif
#ifndef CLUSTER
#define CLUSTER 2
#endif

namespace {

using T = TYPE;
constexpr int kTileM = 128, kTileN = TILE_N, kTileK = 64;
constexpr int kStages = STAGES, kCluster = CLUSTER, kGroup = GROUP;
constexpr int kConsumers = 2;
constexpr int kThreads = 128 * (kConsumers + 1);
constexpr int kBytesA = kTileM * kTileK * 2, kBytesB = kTileN * kTileK * 2;
constexpr int kBoxB = 64 * kTileK * 2;                 // 64 columns of B
constexpr int kOutColumns = 128;                       // of C that a warpgroup has in shared memory at a time
constexpr int kBytesOut = 64 * kOutColumns * 2;        // of a warpgroup
constexpr int kSharedBytes = kStages * (kBytesA + kBytesB) + kConsumers * kBytesOut + 1024 + 256;

template <int kN, class Element>
struct Wgmma;
@WGMMA@

__device__ __forceinline__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__device__ __forceinline__ void init_barrier(unsigned barrier, int count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count)); }
__device__ __forceinline__ void expect_bytes(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// What arrives and waits here orders nothing but copies and matrix products, which order themselves: at the scope of the cluster each would wait for all of
// the thread's accesses and empty the L1.
__device__ __forceinline__ void arrive_at(unsigned barrier, int rank) {
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}\n" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
__device__ __forceinline__ void wait_for(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra.uni DONE;\nbra.uni AGAIN;\nDONE:\n}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__device__ __forceinline__ void load_tile(unsigned to, const CUtensorMap* map, int x, int y, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}
__device__ __forceinline__ void load_tile_to_all(unsigned to, const CUtensorMap* map, int x, int y, unsigned barrier, unsigned short mask) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(map), "r"(x), "r"(y),
               "r"(barrier), "h"(mask)
               : "memory");
}
__device__ __forceinline__ void store_tile(const CUtensorMap* map, unsigned from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y), "r"(from) : "memory");
}

// PTX ISA, wgmma: 128-byte swizzle; offsets in units of 16 bytes.
__device__ __forceinline__ unsigned long long descriptor(unsigned address, unsigned leading_bytes, unsigned stride_bytes) {
  return static_cast<unsigned long long>((address & 0x3ffff) >> 4) | static_cast<unsigned long long>(leading_bytes >> 4) << 16 | static_cast<unsigned long long>(stride_bytes >> 4) << 32 | 1ull << 62;
}

__device__ __forceinline__ unsigned packed(float a, float b) {
  unsigned bits;
  if constexpr (sizeof(T) == 2) {
    if constexpr (__is_same(T, __half)) {
      const __half2 pair = __floats2half2_rn(a, b);
      memcpy(&bits, &pair, 4);
    } else {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
      memcpy(&bits, &pair, 4);
    }
  }
  return bits;
}

struct Schedule {
  int tiles_m, tiles_n;   // in clusters, blocks
  __device__ __forceinline__ void at(int tile, int& m, int& n) const {
    const int per_group = kGroup * tiles_n, group = tile / per_group, first = group * kGroup;
    const int height = tiles_m - first < kGroup ? tiles_m - first : kGroup, inside = tile - group * per_group;
    m = first + inside % height;
    n = inside / height;
  }
};

__global__ void __launch_bounds__(kThreads, 1) gemm_kernel(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, const __grid_constant__ CUtensorMap map_c, int m, int k, int n) {
  extern __shared__ unsigned char raw[];
  const unsigned base = (shared_address(raw) + 1023) & ~1023u;
  const unsigned tile_a = base, tile_b = base + kStages * kBytesA, out = tile_b + kStages * kBytesB, full = out + kConsumers * kBytesOut, empty = full + 8 * kStages;
  const int warpgroup = threadIdx.x / 128;
  int rank = 0;
  if constexpr (kCluster > 1) asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  const int cluster = blockIdx.x / kCluster, clusters = gridDim.x / kCluster;
  const Schedule schedule{(m + kTileM * kCluster - 1) / (kTileM * kCluster), (n + kTileN - 1) / kTileN};
  const int tiles = schedule.tiles_m * schedule.tiles_n, steps = (k + kTileK - 1) / kTileK;

  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init_barrier(full + 8 * s, 1);
      init_barrier(empty + 8 * s, kConsumers * kCluster);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if constexpr (kCluster > 1) {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  } else {
    __syncthreads();
  }

  if (warpgroup == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      int stage = 0;
      unsigned phase = 0;
      for (int tile = cluster; tile < tiles; tile += clusters) {
        int tile_m, tile_n;
        schedule.at(tile, tile_m, tile_n);
        const int row = (tile_m * kCluster + rank) * kTileM, column = tile_n * kTileN;
        for (int step = 0; step < steps; ++step) {
          wait_for(empty + 8 * stage, phase ^ 1);
          const unsigned barrier = full + 8 * stage;
          expect_bytes(barrier, kBytesA + kBytesB);
          load_tile(tile_a + stage * kBytesA, &map_a, step * kTileK, row, barrier);
          constexpr int kBoxes = kTileN / 64 / kCluster;
#pragma unroll
          for (int b = 0; b < kBoxes; ++b) {
            const int box = rank * kBoxes + b;
            if constexpr (kCluster > 1) load_tile_to_all(tile_b + stage * kBytesB + box * kBoxB, &map_b, column + box * 64, step * kTileK, barrier, (1 << kCluster) - 1);
            else load_tile(tile_b + stage * kBytesB + box * kBoxB, &map_b, column + box * 64, step * kTileK, barrier);
          }
          if (++stage == kStages) stage = 0, phase ^= 1;
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int own = warpgroup - 1, thread = threadIdx.x % 128, lane = threadIdx.x % 32, warp = thread / 32;
    const unsigned own_out = out + own * kBytesOut;
    float sum[kTileN / 2];
    int stage = 0;
    unsigned phase = 0;
    for (int tile = cluster; tile < tiles; tile += clusters) {
      int tile_m, tile_n;
      schedule.at(tile, tile_m, tile_n);
      int previous = 0;
      for (int step = 0; step < steps; ++step) {
        wait_for(full + 8 * stage, phase);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        const unsigned long long a = descriptor(tile_a + stage * kBytesA + own * 64 * 128, 16, 1024);
        const unsigned long long b = descriptor(tile_b + stage * kBytesB, kBoxB, 1024);
#pragma unroll
        for (int d = 0; d < kTileK / 16; ++d) Wgmma<kTileN, T>::run(sum, a + d * 2, b + d * 128, step > 0 || d > 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (step > 0) {
          asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
          if (thread < kCluster) arrive_at(empty + 8 * previous, thread);
        }
        previous = stage;
        if (++stage == kStages) stage = 0, phase ^= 1;
      }
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (thread < kCluster) arrive_at(empty + 8 * previous, thread);

      // Rows of 128 bytes, swizzled as TMA wants them; a warp has 16 of the 64 rows.
      const int row = (tile_m * kCluster + rank) * kTileM + own * 64, column = tile_n * kTileN;
      const int matrix_row = warp * 16 + lane / 8 % 2 * 8 + lane % 8;
#pragma unroll
      for (int part = 0; part < kTileN / kOutColumns; ++part) {
        if (thread == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(own + 1) : "memory");
#pragma unroll
        for (int j = 0; j < kOutColumns / 8; j += 2) {
          const int chunk = j + lane / 16, at = (part * kOutColumns / 8 + j) * 4;
          const unsigned address = own_out + chunk / 8 * 8192 + matrix_row * 128 + ((chunk % 8) ^ (matrix_row % 8)) * 16;
          asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(packed(sum[at], sum[at + 1])), "r"(packed(sum[at + 2], sum[at + 3])),
                       "r"(packed(sum[at + 4], sum[at + 5])), "r"(packed(sum[at + 6], sum[at + 7]))
                       : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(own + 1) : "memory");
        if (thread == 0) {
#pragma unroll
          for (int box = 0; box < kOutColumns / 64; ++box) store_tile(&map_c, own_out + box * 8192, column + part * kOutColumns + box * 64, row);
          asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
      }
    }
    if (thread == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  if constexpr (kCluster > 1) asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

bool make_map(Encode encode, CUtensorMap* map, const void* data, int rows, int columns, int box_rows) {
  const cuuint64_t extents[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)}, strides[1] = {static_cast<cuuint64_t>(columns) * 2};
  const cuuint32_t box[2] = {64, static_cast<cuuint32_t>(box_rows)}, steps[2] = {1, 1};
  const auto type = __is_same(T, __half) ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  return encode(map, type, 2, const_cast<void*>(data), extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace

extern "C" cudaError_t gemm(const T* a, const T* b, T* c, int m, int k, int n, cudaStream_t stream) {
  if (n % 8 != 0 || k % 8 != 0) return cudaErrorInvalidValue;
  static Encode encode = nullptr;
  if (!encode) {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found); error != cudaSuccess) return error;
    encode = reinterpret_cast<Encode>(entry);
  }
  CUtensorMap map_a, map_b, map_c;
  if (!make_map(encode, &map_a, a, m, k, kTileM) || !make_map(encode, &map_b, b, k, n, kTileK) || !make_map(encode, &map_c, c, m, n, 64)) return cudaErrorInvalidValue;
  if (const cudaError_t error = cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes); error != cudaSuccess) return error;
  const int tiles = (m + kTileM * kCluster - 1) / (kTileM * kCluster) * ((n + kTileN - 1) / kTileN) * kCluster;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(tiles < 132 ? tiles : 132 / kCluster * kCluster));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kSharedBytes;
  config.stream = stream;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = kCluster, attribute.val.clusterDim.y = 1, attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, gemm_kernel, map_a, map_b, map_c, m, k, n);
}
