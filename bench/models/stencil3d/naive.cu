#include <cuda_runtime.h>

__global__ void stencil(const float* x, float* y, int depth, int height, int width, float c) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, i = blockIdx.z * blockDim.z + threadIdx.z;
  if (k >= depth || j >= height || i >= width) return;
  const long long p = (static_cast<long long>(k) * height + j) * width + i, row = width, plane = static_cast<long long>(width) * height;
  if (k == 0 || j == 0 || i == 0 || k == depth - 1 || j == height - 1 || i == width - 1) {
    y[p] = x[p];
    return;
  }
  const float around = x[p - 1] + x[p + 1] + x[p - row] + x[p + row] + x[p - plane] + x[p + plane];
  y[p] = x[p] + c * (around - 6.0f * x[p]);
}

extern "C" cudaError_t stencil3d(const float* x, float* y, int depth, int height, int width, float c, cudaStream_t stream) {
  const dim3 block(8, 8, 4);
  stencil<<<dim3((depth + 7) / 8, (height + 7) / 8, (width + 3) / 4), block, 0, stream>>>(x, y, depth, height, width, c);
  return cudaGetLastError();
}
