// A thread a row: neighbouring lanes are a row apart.
#include <cuda_runtime.h>

__global__ void gemv_kernel(const float* a, const float* x, float* y, int rows, int cols) {
  extern __shared__ float s[];
  for (int c = threadIdx.x; c < cols; c += blockDim.x) s[c] = x[c];
  __syncthreads();
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float v = 0.0f;
  for (int c = 0; c < cols; ++c) v += a[(long long)row * cols + c] * s[c];  // expect: memory.coalescing
  y[row] = v;
}

extern "C" cudaError_t gemv(const float* a, const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const int bytes = cols * sizeof(float);
  cudaFuncSetAttribute(gemv_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  gemv_kernel<<<(rows + 255) / 256, 256, bytes, stream>>>(a, x, y, rows, cols);
  return cudaGetLastError();
}
