// Operands cut in two by integer operations, and both parts used: what a kernel for narrow matrix units does to reach more than their precision.
#include <cuda_runtime.h>

static __device__ float high(float value) { return __uint_as_float(__float_as_uint(value) & 0xffffe000u); }

static __global__ void wide_kernel(const float* a, const float* b, float* c, int m, int k, int n) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int l = 0; l < k; ++l) {
    const float x = a[i * k + l], y = b[l * n + j], x1 = high(x), y1 = high(y), x2 = high(x - x1), y2 = high(y - y1);
    sum += x1 * y1 + (x1 * y2 + x2 * y1);
  }
  c[i * n + j] = sum;
}

extern "C" cudaError_t wide(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  wide_kernel<<<dim3((n + 31) / 32, (m + 3) / 4), dim3(32, 4), 0, stream>>>(a, b, c, m, k, n);
  return cudaGetLastError();
}
