// The halo on the right is loaded by the wrong thread.
#include <cuda_runtime.h>

constexpr int kX = 32, kY = 8;

__global__ void march(const double* x, double* y, int d, int h, int w, double c) {
  __shared__ double s[kY + 2][kX + 2];
  const int i = blockIdx.x * kX + threadIdx.x, j = blockIdx.y * kY + threadIdx.y;
  const int ti = threadIdx.x + 1, tj = threadIdx.y + 1;
  const bool inside = i < w && j < h;
  const size_t plane = (size_t)w * h;
  size_t p = (size_t)j * w + i;
  double below = 0, here = inside ? x[p] : 0, above;
  for (int k = 0; k < d; ++k, p += plane) {
    above = inside && k + 1 < d ? x[p + plane] : 0;
    s[tj][ti] = here;
    if (inside && threadIdx.x == 0 && i > 0) s[tj][0] = x[p - 1];
    if (inside && threadIdx.x == kX - 2 && i + 1 < w) s[tj][kX + 1] = x[p + 1];
    if (inside && threadIdx.y == 0 && j > 0) s[0][ti] = x[p - w];
    if (inside && threadIdx.y == kY - 1 && j + 1 < h) s[kY + 1][ti] = x[p + w];
    __syncthreads();
    if (inside) {
      const bool border = k == 0 || j == 0 || i == 0 || k == d - 1 || j == h - 1 || i == w - 1;
      y[p] = border ? here : here + c * (s[tj][ti - 1] + s[tj][ti + 1] + s[tj - 1][ti] + s[tj + 1][ti] + below + above - 6 * here);  // expect-contract: numerics
    }
    __syncthreads();
    below = here;
    here = above;
  }
}

extern "C" cudaError_t stencil3d(const double* x, double* y, int d, int h, int w, double c, cudaStream_t stream) {
  march<<<dim3((w + kX - 1) / kX, (h + kY - 1) / kY), dim3(kX, kY), 0, stream>>>(x, y, d, h, w, c);
  return cudaGetLastError();
}
