// Stockham's stages between two buffers in shared memory, real and imaginary parts apart.
#include <cuda_runtime.h>

constexpr int kPoints = 256;

__global__ void __launch_bounds__(kPoints / 2) kernel(const float2* __restrict__ x, float2* __restrict__ y) {
  __shared__ float re[2][kPoints], im[2][kPoints];
  const int t = threadIdx.x;
  x += (size_t)blockIdx.x * kPoints;
  y += (size_t)blockIdx.x * kPoints;
  for (int i = t; i < kPoints; i += kPoints / 2) {
    const float2 v = x[i];
    re[0][i] = v.x;
    im[0][i] = v.y;
  }
  int from = 0;
  for (int width = 1; width < kPoints; width *= 2) {
    __syncthreads();
    const int k = t & (width - 1);
    float s, c;
    sincospif(-(float)k / width, &s, &c);
    const float ar = re[from][t], ai = im[from][t], br = re[from][t + kPoints / 2], bi = im[from][t + kPoints / 2];
    const float wr = br * c - bi * s, wi = br * s + bi * c;
    const int to = 2 * (t - k) + k;
    from ^= 1;
    re[from][to] = ar + wr;
    im[from][to] = ai + wi;
    re[from][to + width] = ar - wr;
    im[from][to + width] = ai - wi;
  }
  __syncthreads();
  for (int i = t; i < kPoints; i += kPoints / 2) y[i] = make_float2(re[from][i], im[from][i]);
}

extern "C" cudaError_t fft256(const float* x, float* y, int rows, cudaStream_t stream) {
  kernel<<<rows, kPoints / 2, 0, stream>>>((const float2*)x, (float2*)y);
  return cudaGetLastError();
}
