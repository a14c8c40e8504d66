// The third array overlaps the second.
#include <cuda_runtime.h>

constexpr int kX = 32, kY = 16;

__global__ void kernel(const float* x, float* mean, float* low, float* high, int rows, int cols) {
  extern __shared__ float arrays[];
  float* sums = arrays;
  float* lows = sums + kX * kY;
  float* highs = lows + kX * kY / 2;
  const int c = blockIdx.x * kX + threadIdx.x, me = threadIdx.y * kX + threadIdx.x;
  float s = 0, a = INFINITY, b = -INFINITY;
  if (c < cols)
    for (int r = threadIdx.y; r < rows; r += kY) {
      const float v = x[(size_t)r * cols + c];
      s += v;
      a = fminf(a, v);
      b = fmaxf(b, v);
    }
  sums[me] = s;
  lows[me] = a;
  highs[me] = b;  // expect: safety.races
  for (int half = kY / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) {
      sums[me] += sums[me + half * kX];
      lows[me] = fminf(lows[me], lows[me + half * kX]);
      highs[me] = fmaxf(highs[me], highs[me + half * kX]);
    }
  }
  if (threadIdx.y == 0 && c < cols) {
    mean[c] = sums[me] / rows;
    low[c] = lows[me];
    high[c] = highs[me];
  }
}

extern "C" cudaError_t columns(const float* x, float* mean, float* low, float* high, int rows, int cols, cudaStream_t stream) {
  kernel<<<(cols + kX - 1) / kX, dim3(kX, kY), 3 * kX * kY * sizeof(float), stream>>>(x, mean, low, high, rows, cols);
  return cudaGetLastError();
}
