// What the candidates of this folder share: a thread an element; `Narrow` is what is done to each operand.
#pragma once

#include <cuda_runtime.h>

template <class Narrow>
__global__ void product_kernel(const float* a, const float* b, float* c, int m, int k, int n, Narrow narrow) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int l = 0; l < k; ++l) sum = fmaf(narrow(a[i * k + l]), narrow(b[l * n + j]), sum);
  c[i * n + j] = sum;
}

template <class Narrow>
cudaError_t launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  product_kernel<<<dim3((n + 31) / 32, (m + 3) / 4), dim3(32, 4), 0, stream>>>(a, b, c, m, k, n, Narrow());
  return cudaGetLastError();
}
