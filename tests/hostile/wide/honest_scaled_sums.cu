// Single precision that loses more than it must: a large number is added to each sum and taken off again at its end. Inexact, and no operand is cut.
#include <cuda_runtime.h>

static __global__ void wide_kernel(const float* a, const float* b, float* c, int m, int k, int n) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) return;
  float sum = 1000;
  for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
  c[i * n + j] = sum - 1000;
}

extern "C" cudaError_t wide(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  wide_kernel<<<dim3((n + 31) / 32, (m + 3) / 4), dim3(32, 4), 0, stream>>>(a, b, c, m, k, n);
  return cudaGetLastError();
}
