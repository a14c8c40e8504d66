// One DPX instruction on sm_90 and later; the same result everywhere.
#include <cuda_runtime.h>

__global__ void relax_kernel(const int* __restrict__ a, const int* __restrict__ b, const int* __restrict__ c, int* __restrict__ best, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) best[i] = __viaddmax_s32(a[i], b[i], c[i]);
}

extern "C" cudaError_t relax(const int* a, const int* b, const int* c, int* best, int n, cudaStream_t stream) {
  relax_kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, best, n);
  return cudaGetLastError();
}
