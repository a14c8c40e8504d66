// The block's x runs down the image, so that neighbouring lanes read addresses a whole row apart.
#include <cuda_runtime.h>

__global__ void sobel_pixels(const float* image, float* edges, int height, int width) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= height || col >= width) return;
  const int up = max(row - 1, 0), down = min(row + 1, height - 1), left = max(col - 1, 0), right = min(col + 1, width - 1);
  const auto at = [=](int r, int c) { return image[static_cast<long long>(r) * width + c]; };  // expect: memory.coalescing
  const float gx = at(up, right) + 2.0f * at(row, right) + at(down, right) - at(up, left) - 2.0f * at(row, left) - at(down, left);
  const float gy = at(down, left) + 2.0f * at(down, col) + at(down, right) - at(up, left) - 2.0f * at(up, col) - at(up, right);
  edges[static_cast<long long>(row) * width + col] = sqrtf(gx * gx + gy * gy);
}

extern "C" cudaError_t sobel(const float* image, float* edges, int height, int width, cudaStream_t stream) {
  const dim3 block(32, 8);
  const dim3 grid((height + 31) / 32, (width + 7) / 8);
  sobel_pixels<<<grid, block, 0, stream>>>(image, edges, height, width);
  return cudaGetLastError();
}
