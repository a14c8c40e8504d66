#include <cuda_runtime.h>

__global__ void sgemm_elements(const float* a, const float* b, float* c, int m, int k, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p) sum += a[row * k + p] * b[p * n + col];
  c[row * n + col] = sum;
}

extern "C" cudaError_t sgemm(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  const dim3 block(32, 8);
  const dim3 grid((m + 31) / 32, (n + 7) / 8);
  sgemm_elements<<<grid, block, 0, stream>>>(a, b, c, m, k, n);
  return cudaGetLastError();
}
