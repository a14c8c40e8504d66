// One element of c a thread; lanes lie along the rows of a, so that each reads a sector of its own.
#include <cuda_runtime.h>

__global__ void product(const float* a, const float* b, float* c, int m, int k, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < m && j < n) {
    float sum = 0.0f;
    // the inner product
    for (int l = 0; l < k; l++) sum += a[i * k + l] * b[l * n + j];
    c[i * n + j] = sum;
  }
}

extern "C" cudaError_t matrix_product(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  dim3 block(16, 16);
  dim3 grid((m + 15) / 16, (n + 15) / 16);
  product<<<grid, block, 0, stream>>>(a, b, c, m, k, n);
  return cudaGetLastError();
}
