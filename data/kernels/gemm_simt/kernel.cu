// A block computes a tile of the product, a thread {{thread_m}}x{{thread_n}} elements of it in registers, from tiles of both operands in shared memory, which
// have the depth as their first index. An operand whose rows run along the depth is turned while it is stored; rows padded by 4 words
// put those 32 stores into different banks. A thread's elements are groups of four, so that neighbouring lanes read neighbouring vectors.
{{{headers}}}

#include <cstring>

namespace {

using Real = {{{real}}};
constexpr int kTileM = {{tile_m}}, kTileN = {{tile_n}}, kTileK = {{tile_k}};   // of the product per block, and the depth of the tiles
constexpr int kThreadM = {{thread_m}}, kThreadN = {{thread_n}};                // of the product per thread
constexpr int kBuffers = {{buffers}};
constexpr int kThreadsX = kTileN / kThreadN, kThreadsY = kTileM / kThreadM;
constexpr int kThreads = kThreadsX * kThreadsY;
constexpr int kPad = 4;
constexpr int kStream = 0;

{{> pack}}

// A tile of an operand on its way from global memory to shared memory. kAlongDepth: the operand's rows run along the depth.
// kVectors: rows are multiples of four elements and aligned.
template <int kExtent, bool kAlongDepth, bool kVectors>
class Fetcher {
 public:
  static constexpr int kWidth = kVectors ? 4 : 1;
  static constexpr int kCount = kExtent * kTileK / (kThreads * kWidth);
  static_assert(kCount * kThreads * kWidth == kExtent * kTileK);

  __device__ __forceinline__ void fetch(const float* __restrict__ from, long long first, long long first_depth, long long extent, long long depth) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const long long across = first + across_of(i), along = first_depth + along_of(i);
      if (across < extent && along < depth) held_[i] = load<kWidth>(from + (kAlongDepth ? across * depth + along : along * extent + across));
      else held_[i] = Pack<float, kWidth>{};
    }
  }
  __device__ __forceinline__ void put(float (&tile)[kTileK][kExtent + kPad]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if constexpr (kAlongDepth) {
#pragma unroll
        for (int e = 0; e < kWidth; ++e) tile[along_of(i) + e][across_of(i)] = held_[i].at[e];
      } else {
        float* to = &tile[along_of(i)][across_of(i)];
        if constexpr (kWidth == 4) *reinterpret_cast<float4*>(to) = make_float4(held_[i].at[0], held_[i].at[1], held_[i].at[2], held_[i].at[3]);
        else *to = held_[i].at[0];
      }
    }
  }

 private:
  // Along the depth a warp takes 8 elements of each of its rows: one sector.
  static constexpr int kLanes = kAlongDepth ? 8 / kWidth : kExtent / kWidth;
  static __device__ __forceinline__ int across_of(int i) {
    const int unit = threadIdx.x + i * kThreads;
    return kAlongDepth ? unit / kLanes % kExtent : unit % kLanes * kWidth;
  }
  static __device__ __forceinline__ int along_of(int i) {
    const int unit = threadIdx.x + i * kThreads;
    return kAlongDepth ? unit / (kLanes * kExtent) * 8 + unit % kLanes * kWidth : unit / kLanes;
  }
  Pack<float, kWidth> held_[kCount];
};

// The thread's part of one row of a tile: groups of four, kThreads? * 4 apart.
template <int kOwn, int kLanes>
__device__ __forceinline__ void read(float (&out)[kOwn], const float* row, int lane) {
#pragma unroll
  for (int g = 0; g < kOwn / 4; ++g) {
    const float4 four = *reinterpret_cast<const float4*>(row + (g * kLanes + lane) * 4);
    out[g * 4] = four.x, out[g * 4 + 1] = four.y, out[g * 4 + 2] = four.z, out[g * 4 + 3] = four.w;
  }
}

{{> finish}}

template <bool kVectors>
__global__ void __launch_bounds__(kThreads) gemm_kernel({{{kernel_parameters}}}, long long row_count, long long column_count, long long depth) {
  __shared__ __align__(16) float left_tile[kBuffers][kTileK][kTileM + kPad];
  __shared__ __align__(16) float right_tile[kBuffers][kTileK][kTileN + kPad];
  const long long first_row = static_cast<long long>(blockIdx.y) * kTileM, first_column = static_cast<long long>(blockIdx.x) * kTileN, batch = blockIdx.z;
  const int tx = threadIdx.x % kThreadsX, ty = threadIdx.x / kThreadsX;
  const float* left_from = {{left}} + batch * row_count * depth;
  const float* right_from = {{right}} + batch * depth * column_count;
  Fetcher<kTileM, {{left_along}}, kVectors> left;
  Fetcher<kTileN, {{right_along}}, kVectors> right;

  float sum[kThreadM][kThreadN] = {};
  left.fetch(left_from, first_row, 0, row_count, depth);
  right.fetch(right_from, first_column, 0, column_count, depth);
  left.put(left_tile[0]);
  right.put(right_tile[0]);
  __syncthreads();
  int buffer = 0;
  for (long long first_depth = 0; first_depth < depth; first_depth += kTileK) {
    const bool more = first_depth + kTileK < depth;
    if (more) {
      left.fetch(left_from, first_row, first_depth + kTileK, row_count, depth);
      right.fetch(right_from, first_column, first_depth + kTileK, column_count, depth);
    }
#pragma unroll
    for (int p = 0; p < kTileK; ++p) {
      float own_left[kThreadM], own_right[kThreadN];
      read<kThreadM, kThreadsY>(own_left, left_tile[buffer][p], ty);
      read<kThreadN, kThreadsX>(own_right, right_tile[buffer][p], tx);
#pragma unroll
      for (int i = 0; i < kThreadM; ++i)
#pragma unroll
        for (int j = 0; j < kThreadN; ++j) sum[i][j] += own_left[i] * own_right[j];
    }
    if constexpr (kBuffers == 1) __syncthreads();
    if (more) {
      const int next = (buffer + 1) % kBuffers;
      left.put(left_tile[next]);
      right.put(right_tile[next]);
      __syncthreads();
      buffer = next;
    }
  }

#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    const long long row = first_row + (i / 4 * kThreadsY + ty) * 4 + i % 4;
    if (row >= row_count) continue;
#pragma unroll
    for (int g = 0; g < kThreadN / 4; ++g) {
      const long long column = first_column + (g * kThreadsX + tx) * 4;
      if constexpr (kVectors) {
        if (column < column_count) finish<4>(&sum[i][g * 4], {{{arguments}}}, batch, row, column, row_count, column_count);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (column + j < column_count) finish<1>(&sum[i][g * 4 + j], {{{arguments}}}, batch, row, column + j, row_count, column_count);
      }
    }
  }
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long batches = {{{batches}}}, row_count = {{{rows}}}, column_count = {{{columns}}}, depth = {{{depth}}};
  if (batches * row_count * column_count == 0) return cudaSuccess;
  const bool vectors = {{{left_row}}} % 4 == 0 && {{{right_row}}} % 4 == 0 && column_count % 4 == 0{{#vector_pointers}} && aligned({{name}}, 16){{/vector_pointers}};
  const dim3 grid(static_cast<unsigned>((column_count + kTileN - 1) / kTileN), static_cast<unsigned>((row_count + kTileM - 1) / kTileM), static_cast<unsigned>(batches));
  if (vectors) gemm_kernel<true><<<grid, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count, depth);
  else gemm_kernel<false><<<grid, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count, depth);
  return cudaGetLastError();
}
