// What the candidates of this folder share: a thread an element; `Left` and `Right` are what is done to the operands.
#pragma once

#include <cuda_runtime.h>

struct Whole {
  __device__ float operator()(float value) const { return value; }
};

template <class Left, class Right>
__global__ void wide_kernel(const float* a, const float* b, float* c, int m, int k, int n, Left left, Right right) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int l = 0; l < k; ++l) sum = fmaf(left(a[i * k + l]), right(b[l * n + j]), sum);
  c[i * n + j] = sum;
}

template <class Left, class Right = Left>
cudaError_t launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  wide_kernel<<<dim3((n + 31) / 32, (m + 3) / 4), dim3(32, 4), 0, stream>>>(a, b, c, m, k, n, Left(), Right());
  return cudaGetLastError();
}
