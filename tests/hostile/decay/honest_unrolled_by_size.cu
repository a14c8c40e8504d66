// Two instances of a template, one chosen at run time by a pointer, with dynamic shared memory above 48 KiB.
#include "decay.cuh"
template <int kUnroll> static __global__ void unrolled(const float* x, float* y, int n) {
  extern __shared__ float tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  tile[threadIdx.x] = x[i];
  float z = 0;
#pragma unroll kUnroll
  for (int step = 0; step < 256; ++step) z = 0.5f * z + tile[threadIdx.x];
  y[i] = z;
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  void (*kernel)(const float*, float*, int) = n % 2 ? unrolled<4> : unrolled<16>;
  cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
  cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributePreferredSharedMemoryCarveout, 100);
  if (n > 0) kernel<<<(n + 127) / 128, 128, 96 << 10, stream>>>(x, y, n);
  return cudaGetLastError();
}
