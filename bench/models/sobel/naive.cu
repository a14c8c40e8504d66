#include <cuda_runtime.h>

__device__ float at(const float* image, int row, int col, int height, int width) {
  row = min(max(row, 0), height - 1);
  col = min(max(col, 0), width - 1);
  return image[static_cast<long long>(row) * width + col];
}

__global__ void sobel_pixels(const float* image, float* edges, int height, int width) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= height || col >= width) return;
  float p[3][3];
  for (int dr = 0; dr < 3; ++dr)
    for (int dc = 0; dc < 3; ++dc) p[dr][dc] = at(image, row + dr - 1, col + dc - 1, height, width);
  const float gx = p[0][2] + 2.0f * p[1][2] + p[2][2] - p[0][0] - 2.0f * p[1][0] - p[2][0];
  const float gy = p[2][0] + 2.0f * p[2][1] + p[2][2] - p[0][0] - 2.0f * p[0][1] - p[0][2];
  edges[static_cast<long long>(row) * width + col] = sqrtf(gx * gx + gy * gy);
}

extern "C" cudaError_t sobel(const float* image, float* edges, int height, int width, cudaStream_t stream) {
  const dim3 block(16, 16);
  const dim3 grid((height + 15) / 16, (width + 15) / 16);
  sobel_pixels<<<grid, block, 0, stream>>>(image, edges, height, width);
  return cudaGetLastError();
}
