// The inner loop takes half of the tile.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;
constexpr int kTile = 64, kPitch = kTile + 8;

__global__ void __launch_bounds__(256) kernel(const half* __restrict__ a, const half* __restrict__ b, float* __restrict__ c, int m, int k, int n) {
  __shared__ __align__(32) half as[kTile * kPitch], bs[kTile * kPitch];
  const int t = threadIdx.x, warp = t / 32, wr = warp / 2 * 16, wc = warp % 2 * 32;
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2];
  for (auto& s : sum) wmma::fill_fragment(s, 0.0f);
  for (int k0 = 0; k0 < k; k0 += kTile) {
    for (int r = t / 8, q = t % 8 * 8; r < kTile; r += 32) {
      *reinterpret_cast<uint4*>(as + r * kPitch + q) = *reinterpret_cast<const uint4*>(a + (size_t)(row0 + r) * k + k0 + q);
      *reinterpret_cast<uint4*>(bs + r * kPitch + q) = *reinterpret_cast<const uint4*>(b + (size_t)(k0 + r) * n + col0 + q);
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < kTile / 2; kk += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
      wmma::load_matrix_sync(fa, as + wr * kPitch + kk, kPitch);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
        wmma::load_matrix_sync(fb, bs + kk * kPitch + wc + 16 * i, kPitch);
        wmma::mma_sync(sum[i], fa, fb, sum[i]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    wmma::store_matrix_sync(c + (size_t)(row0 + wr) * n + col0 + wc + 16 * i, sum[i], n, wmma::mem_row_major);  // expect: numerics
}

extern "C" cudaError_t half_gemm(const half* a, const half* b, float* c, int m, int k, int n, cudaStream_t stream) {
  kernel<<<dim3(n / kTile, m / kTile), 256, 0, stream>>>(a, b, c, m, k, n);
  return cudaGetLastError();
}
