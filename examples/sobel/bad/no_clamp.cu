// At the borders of the image the halo lies outside of it.
#include <cuda_runtime.h>

namespace {

constexpr int kWidth = 64;   // pixels of a tile
constexpr int kHeight = 16;
constexpr int kWarps = 8;

__device__ int clamp(int value, int limit) { return min(max(value, 0), limit - 1); }

__global__ void __launch_bounds__(32 * kWarps) sobel_tiles(const float* __restrict__ image, float* __restrict__ edges, int height, int width) {
  __shared__ float tile[kHeight + 2][kWidth + 2];
  const int first_row = blockIdx.y * kHeight, first_col = blockIdx.x * kWidth;

  for (int r = threadIdx.y; r < kHeight + 2; r += kWarps) {
    const float* row = image + static_cast<long long>((first_row + r - 1)) * width;
    for (int c = threadIdx.x; c < kWidth + 2; c += 32) tile[r][c] = row[clamp(first_col + c - 1, width)];  // expect: safety.bounds
  }
  __syncthreads();

  for (int r = threadIdx.y; r < kHeight; r += kWarps) {
    for (int c = threadIdx.x; c < kWidth; c += 32) {
      const int row = first_row + r, col = first_col + c;
      if (row >= height || col >= width) continue;
      const float gx = tile[r][c + 2] + 2.0f * tile[r + 1][c + 2] + tile[r + 2][c + 2] - tile[r][c] - 2.0f * tile[r + 1][c] - tile[r + 2][c];
      const float gy = tile[r + 2][c] + 2.0f * tile[r + 2][c + 1] + tile[r + 2][c + 2] - tile[r][c] - 2.0f * tile[r][c + 1] - tile[r][c + 2];
      edges[static_cast<long long>(row) * width + col] = sqrtf(gx * gx + gy * gy);
    }
  }
}

}  // namespace

extern "C" cudaError_t sobel(const float* image, float* edges, int height, int width, cudaStream_t stream) {
  const dim3 grid((width + kWidth - 1) / kWidth, (height + kHeight - 1) / kHeight);
  sobel_tiles<<<grid, dim3(32, kWarps), 0, stream>>>(image, edges, height, width);
  return cudaGetLastError();
}
