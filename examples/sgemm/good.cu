// A block computes a 128x128 tile of C from 128x8 and 8x128 tiles of A and B in shared memory; a thread keeps 8x8 elements in registers.
// A's tile is stored transposed, with rows padded by 4 words: its 32 stores and its 16-byte loads then meet 32 different banks. A thread's
// columns are two groups of four, 64 apart, so that the lanes of a quarter-warp read 128 consecutive bytes of B's tile.
#include <cuda_runtime.h>

namespace {

constexpr int kTile = 128;     // rows and columns of C per block
constexpr int kDepth = 8;      // of the tiles of A and B
constexpr int kThreads = 256;  // 16x16, each 8x8 elements
constexpr int kPad = 4;

__device__ void load_a(float (*tile)[kTile + kPad], const float* __restrict__ a, int first_row, int first_k, int m, int k) {
  const int column = threadIdx.x % kDepth;
  for (int row = threadIdx.x / kDepth; row < kTile; row += kThreads / kDepth) {
    const bool inside = first_row + row < m && first_k + column < k;
    tile[column][row] = inside ? a[static_cast<long long>(first_row + row) * k + first_k + column] : 0.0f;
  }
}

__device__ void load_b(float (*tile)[kTile], const float* __restrict__ b, int first_k, int first_col, int k, int n) {
  const int column = threadIdx.x % kTile;
  for (int row = threadIdx.x / kTile; row < kDepth; row += kThreads / kTile) {
    const bool inside = first_k + row < k && first_col + column < n;
    tile[row][column] = inside ? b[static_cast<long long>(first_k + row) * n + first_col + column] : 0.0f;
  }
}

__device__ void load8(float (&out)[8], const float* row, int index) {
  const float4 low = *reinterpret_cast<const float4*>(row + index * 4);
  const float4 high = *reinterpret_cast<const float4*>(row + kTile / 2 + index * 4);
  out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
  out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
}

// Rows and columns 0..3 of a thread lie in the first half of the tile, 4..7 in the second.
__device__ void store_whole(float* __restrict__ c, const float (&sum)[8][8], const int (&rows)[2], int column, int n) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float* out = c + static_cast<long long>(rows[i / 4] + i % 4) * n + column;
    __stcs(reinterpret_cast<float4*>(out), make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]));
    __stcs(reinterpret_cast<float4*>(out + kTile / 2), make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]));
  }
}

__device__ void store_edge(float* __restrict__ c, const float (&sum)[8][8], const int (&rows)[2], int column, int m, int n) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = rows[i / 4] + i % 4;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int col = column + j / 4 * (kTile / 2) + j % 4;
      if (row < m && col < n) c[static_cast<long long>(row) * n + col] = sum[i][j];
    }
  }
}

__global__ void __launch_bounds__(kThreads)
sgemm_tiles(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int k, int n) {
  __shared__ __align__(16) float a_tile[kDepth][kTile + kPad];
  __shared__ __align__(16) float b_tile[kDepth][kTile];
  const int first_row = blockIdx.y * kTile, first_col = blockIdx.x * kTile;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;

  float sum[8][8] = {};
  for (int first_k = 0; first_k < k; first_k += kDepth) {
    load_a(a_tile, a, first_row, first_k, m, k);
    load_b(b_tile, b, first_k, first_col, k, n);
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kDepth; ++p) {
      float left[8], right[8];
      load8(left, a_tile[p], ty);
      load8(right, b_tile[p], tx);
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }

  const int rows[2] = {first_row + ty * 4, first_row + kTile / 2 + ty * 4};
  if (n % 4 == 0 && first_row + kTile <= m && first_col + kTile <= n) store_whole(c, sum, rows, first_col + tx * 4, n);
  else store_edge(c, sum, rows, first_col + tx * 4, m, n);
}

}  // namespace

extern "C" cudaError_t sgemm(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  sgemm_tiles<<<grid, kThreads, 0, stream>>>(a, b, c, m, k, n);
  return cudaGetLastError();
}
