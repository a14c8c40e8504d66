// The last of equals is kept.
#include <cfloat>
#include <cuda_runtime.h>

__global__ void kernel(const float* __restrict__ x, float* __restrict__ y, int* __restrict__ at, int height, int width) {
  const int h = (height + 1) / 2, w = (width + 1) / 2;
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c >= w || r >= h) return;
  const float* plane = x + (size_t)blockIdx.z * height * width;
  const int top = max(2 * r - 1, 0), bottom = min(2 * r + 2, height);
  const int left = max(2 * c - 1, 0), right = min(2 * c + 2, width);
  float best = -INFINITY;
  int where = top * width + left;
  for (int i = top; i < bottom; ++i)
    for (int j = left; j < right; ++j) {
      const float v = plane[i * width + j];
      if (v >= best) { best = v; where = i * width + j; }
    }
  const size_t out = ((size_t)blockIdx.z * h + r) * w + c;
  y[out] = best;
  at[out] = where;  // expect: numerics
}

extern "C" cudaError_t max_pool(const float* x, float* y, int* at, int planes, int height, int width, cudaStream_t stream) {
  const dim3 block(32, 4), grid(((width + 1) / 2 + 31) / 32, ((height + 1) / 2 + 3) / 4, planes);
  kernel<<<grid, block, 0, stream>>>(x, y, at, height, width);
  return cudaGetLastError();
}
