// 32x32 tiles, one z of the grid a matrix.  full
#include <cuda_runtime.h>

constexpr int kTile = 32;

__global__ void gemm(const float* a, const float* b, float* c, int m, int k, int n) {
  __shared__ float sa[kTile][kTile], sb[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
  a += (size_t)blockIdx.z * m * k;
  b += (size_t)blockIdx.z * k * n;
  c += (size_t)blockIdx.z * m * n;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += kTile) {
    sa[ty][tx] = row < m && k0 + tx < k ? a[row * k + k0 + tx] : 0.0f;
    sb[ty][tx] = k0 + ty < k && col < n ? b[(k0 + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int l = 0; l < kTile; ++l) sum += sa[ty][l] * sb[l][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

extern "C" cudaError_t batched_gemm(const float* a, const float* b, float* c, int batch, int m, int k, int n, cudaStream_t stream) {
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile, batch);
  gemm<<<grid, dim3(kTile, kTile), 0, stream>>>(a, b, c, m, k, n);
  return cudaGetLastError();
}
