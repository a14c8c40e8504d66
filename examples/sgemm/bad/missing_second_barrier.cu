// The next tiles are stored while other warps still read these.
#include <cuda_runtime.h>

constexpr int kTile = 16;

__global__ void sgemm_tiles(const float* a, const float* b, float* c, int m, int k, int n) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int first = 0; first < k; first += kTile) {
    const int a_col = first + threadIdx.x, b_row = first + threadIdx.y;
    a_tile[threadIdx.y][threadIdx.x] = row < m && a_col < k ? a[row * k + a_col] : 0.0f;  // expect: safety.races
    b_tile[threadIdx.y][threadIdx.x] = b_row < k && col < n ? b[b_row * n + col] : 0.0f;
    __syncthreads();
    for (int p = 0; p < kTile; ++p) sum += a_tile[threadIdx.y][p] * b_tile[p][threadIdx.x];
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

extern "C" cudaError_t sgemm(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  sgemm_tiles<<<grid, dim3(kTile, kTile), 0, stream>>>(a, b, c, m, k, n);
  return cudaGetLastError();
}
