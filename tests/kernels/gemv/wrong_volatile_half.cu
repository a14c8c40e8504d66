// Two blocks a row: the second adds what the first has left in volatile memory, and nothing makes it wait.
#include <cuda_runtime.h>

constexpr int kThreads = 256, kMostRows = 1 << 16;
__device__ volatile float part[kMostRows];

__global__ void __launch_bounds__(kThreads) half_rows(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float s[kThreads];
  const int row = blockIdx.x, t = threadIdx.x;
  float sum = 0;
  for (int c = t + blockIdx.y * kThreads; c < cols; c += 2 * kThreads) sum += a[(size_t)row * cols + c] * x[c];
  s[t] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) s[t] += s[t + half];
    __syncthreads();
  }
  if (t == 0 && blockIdx.y == 0) part[row] = s[0];
  if (t == 0 && blockIdx.y == 1) y[row] = part[row] + s[0];  // expect-contract: numerics
}

extern "C" cudaError_t gemv(const float* a, const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  half_rows<<<dim3(rows, 2), kThreads, 0, stream>>>(a, x, y, rows, cols);
  return cudaGetLastError();
}
