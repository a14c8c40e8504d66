// Four outputs of a column a thread: one word of B's tile serves four multiply-adds.
#include <cuda_runtime.h>

constexpr int kTile = 16, kOutputs = 4, kRows = kTile * kOutputs;

__global__ void __launch_bounds__(kTile * kTile) sgemm_tiles(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int k, int n) {
  __shared__ float tile_a[kRows][kTile], tile_b[kTile][kTile];
  const int first_row = blockIdx.y * kRows, col = blockIdx.x * kTile + threadIdx.x;
  float sum[kOutputs] = {};
  for (int first = 0; first < k; first += kTile) {
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      const int row = first_row + o * kTile + threadIdx.y;
      tile_a[o * kTile + threadIdx.y][threadIdx.x] = row < m && first + threadIdx.x < k ? a[row * k + first + threadIdx.x] : 0.0f;
    }
    tile_b[threadIdx.y][threadIdx.x] = col < n && first + threadIdx.y < k ? b[(first + threadIdx.y) * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kTile; ++p) {
      const float value = tile_b[p][threadIdx.x];
#pragma unroll
      for (int o = 0; o < kOutputs; ++o) sum[o] += tile_a[o * kTile + threadIdx.y][p] * value;
    }
    __syncthreads();
  }
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    const int row = first_row + o * kTile + threadIdx.y;
    if (row < m && col < n) c[row * n + col] = sum[o];
  }
}

extern "C" cudaError_t sgemm(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  const dim3 grid((n + kTile - 1) / kTile, (m + kRows - 1) / kRows);
  sgemm_tiles<<<grid, dim3(kTile, kTile), 0, stream>>>(a, b, c, m, k, n);
  return cudaGetLastError();
}
