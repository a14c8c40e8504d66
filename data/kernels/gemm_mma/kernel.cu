// A block computes a tile of the product on tensor cores (mma.sync m16n8k16), a warp a part of it in registers. Tiles of both operands come through
// `stages` buffers of shared memory by asynchronous copies of 16 bytes and leave by ldmatrix; chunks of 16 bytes are swizzled by the row, so that eight
// rows of a chunk lie in different banks. The product leaves through shared memory, in vectors of rows. Operands whose rows are no multiple
// of 16 bytes come by single elements, and so does then the product.
{{{headers}}}

#include <cstring>

namespace {

using Real = {{{real}}};
using In = {{{operand_type}}};
constexpr int kTileM = {{tile_m}}, kTileN = {{tile_n}}, kTileK = {{tile_k}};   // of the product per block, and the depth of a buffer
constexpr int kWarpM = {{warp_m}}, kWarpN = {{warp_n}};                        // of the product per warp
constexpr int kStages = {{stages}};
constexpr int kGroup = {{group}};                                              // rows of blocks that run side by side
constexpr int kWarpsN = kTileN / kWarpN, kWarps = kTileM / kWarpM * kWarpsN, kThreads = 32 * kWarps;
constexpr bool kLeftAlong = {{left_along}}, kRightAlong = {{right_along}};     // an operand's rows run along the depth
constexpr int kStream = 0;

{{> pack}}

{{> matrix_tile}}

using LeftTile = Tile<kLeftAlong ? kTileM : kTileK, kLeftAlong ? kTileK : kTileM>;
using RightTile = Tile<kRightAlong ? kTileN : kTileK, kRightAlong ? kTileK : kTileN>;
constexpr int kStageBytes = LeftTile::kBytes + RightTile::kBytes;

// A part of the product on its way out: sixteen rows of a warp, padded so that lanes that store eight rows meet different banks.
constexpr int kOutPitch = kWarpN + 8;
constexpr int kOutBytes = kWarps * 16 * kOutPitch * 4;
constexpr int kSharedBytes = kStages * kStageBytes > kOutBytes ? kStages * kStageBytes : kOutBytes;

{{> finish}}

{{> out_width}}

{{> store_pair}}

template <bool kVectors>
__global__ void __launch_bounds__(kThreads) gemm_kernel({{{kernel_parameters}}}, long long row_count, long long column_count, long long depth, unsigned row_tiles, unsigned column_tiles) {
  extern __shared__ __align__(128) unsigned char shared[];
  // Neighbouring blocks take kGroup rows of tiles, column by column, so that what they read stays in the L2.
  const unsigned per_group = kGroup * column_tiles, group = blockIdx.x / per_group, inside = blockIdx.x % per_group;
  const unsigned height = row_tiles - group * kGroup < kGroup ? row_tiles - group * kGroup : kGroup;
  const long long first_row = static_cast<long long>(group * kGroup + inside % height) * kTileM, first_column = static_cast<long long>(inside / height) * kTileN, batch = blockIdx.y;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / kWarpsN * kWarpM, warp_column = warp % kWarpsN * kWarpN;
  const In* const left_from = {{left}} + batch * row_count * depth;
  const In* const right_from = {{right}} + batch * depth * column_count;
  const int steps = static_cast<int>((depth + kTileK - 1) / kTileK);

  const auto fetch_step = [&](int step) {
    unsigned char* const to = shared + step % kStages * kStageBytes;
    const long long along = static_cast<long long>(step) * kTileK;
    if constexpr (kLeftAlong) fetch<LeftTile, kVectors>(to, left_from, first_row, along, row_count, depth);
    else fetch<LeftTile, kVectors>(to, left_from, along, first_row, depth, row_count);
    if constexpr (kRightAlong) fetch<RightTile, kVectors>(to + LeftTile::kBytes, right_from, first_column, along, column_count, depth);
    else fetch<RightTile, kVectors>(to + LeftTile::kBytes, right_from, along, first_column, depth, column_count);
  };

  float sum[kWarpM / 16][kWarpN / 8][4] = {};
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < steps) fetch_step(s);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    __syncthreads();
    if (step + kStages - 1 < steps) fetch_step(step + kStages - 1);
    asm volatile("cp.async.commit_group;" ::: "memory");
    const unsigned char* const left_tile = shared + step % kStages * kStageBytes;
    const unsigned char* const right_tile = left_tile + LeftTile::kBytes;
#pragma unroll
    for (int d = 0; d < kTileK / 16; ++d) {
      unsigned left[kWarpM / 16][4], right[kWarpN / 16][4];
#pragma unroll
      for (int i = 0; i < kWarpM / 16; ++i) {
        if constexpr (kLeftAlong) load_matrices<false>(left[i], left_tile + LeftTile::place(warp_row + i * 16 + lane % 16, d * 2 + lane / 16));
        else load_matrices<true>(left[i], left_tile + LeftTile::place(d * 16 + lane % 8 + lane / 16 * 8, (warp_row + i * 16) / 8 + lane / 8 % 2));
      }
#pragma unroll
      for (int j = 0; j < kWarpN / 16; ++j) {
        if constexpr (kRightAlong) load_matrices<false>(right[j], right_tile + RightTile::place(warp_column + j * 16 + lane % 8 + lane / 16 * 8, d * 2 + lane / 8 % 2));
        else load_matrices<true>(right[j], right_tile + RightTile::place(d * 16 + lane % 16, (warp_column + j * 16) / 8 + lane / 16));
      }
#pragma unroll
      for (int i = 0; i < kWarpM / 16; ++i)
#pragma unroll
        for (int j = 0; j < kWarpN / 8; ++j) multiply(sum[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
    }
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();

  float* const out_part = reinterpret_cast<float*>(shared) + warp * 16 * kOutPitch;
#pragma unroll
  for (int i = 0; i < kWarpM / 16; ++i) {
#pragma unroll
    for (int j = 0; j < kWarpN / 8; ++j) {
      float* const to = out_part + lane / 4 * kOutPitch + j * 8 + lane % 4 * 2;
      store_pair(to, sum[i][j][0], sum[i][j][1]);
      store_pair(to + 8 * kOutPitch, sum[i][j][2], sum[i][j][3]);
    }
    __syncwarp();
    constexpr int kWidth = kVectors ? kOutWidth : 1;
    constexpr int kUnits = kWarpN / kWidth, kRounds = kVectors ? 16 : 1;
#pragma unroll kRounds
    for (int unit = lane; unit < 16 * kUnits; unit += 32) {
      const int r = unit / kUnits, c = unit % kUnits * kWidth;
      const long long row = first_row + warp_row + i * 16 + r, column = first_column + warp_column + c;
      const float* const from = out_part + r * kOutPitch + c;
      float own[kWidth];
      if constexpr (kWidth == 8) {
        // Half of the lanes read their second four first: so eight lanes meet all banks.
        const bool late = lane / 4 % 2 == 1;
        const float4 a = *reinterpret_cast<const float4*>(from + (late ? 4 : 0)), b = *reinterpret_cast<const float4*>(from + (late ? 0 : 4));
        const float4 low = late ? b : a, high = late ? a : b;
        own[0] = low.x, own[1] = low.y, own[2] = low.z, own[3] = low.w, own[4] = high.x, own[5] = high.y, own[6] = high.z, own[7] = high.w;
      } else if constexpr (kWidth == 4) {
        const float4 a = *reinterpret_cast<const float4*>(from);
        own[0] = a.x, own[1] = a.y, own[2] = a.z, own[3] = a.w;
      } else {
#pragma unroll
        for (int e = 0; e < kWidth; ++e) own[e] = from[e];
      }
      if (row < row_count && column < column_count) finish<kWidth>(own, {{{arguments}}}, batch, row, column, row_count, column_count);
    }
    __syncwarp();
  }
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long batches = {{{batches}}}, row_count = {{{rows}}}, column_count = {{{columns}}}, depth = {{{depth}}};
  if (batches * row_count * column_count == 0) return cudaSuccess;
  const bool vectors = {{{left_row}}} % 8 == 0 && {{{right_row}}} % 8 == 0 && column_count % kOutWidth == 0{{#vector_pointers}} && aligned({{name}}, 16){{/vector_pointers}};
  const unsigned row_tiles = static_cast<unsigned>((row_count + kTileM - 1) / kTileM), column_tiles = static_cast<unsigned>((column_count + kTileN - 1) / kTileN);
  const auto kernel = vectors ? gemm_kernel<true> : gemm_kernel<false>;
  if (kSharedBytes > 48 * 1024) {
    const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
    if (error != cudaSuccess) return error;
  }
  kernel<<<dim3(row_tiles * column_tiles, static_cast<unsigned>(batches)), kThreads, kSharedBytes, stream>>>({{{arguments}}}, row_count, column_count, depth, row_tiles, column_tiles);
  return cudaGetLastError();
}
