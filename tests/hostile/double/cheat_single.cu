// Single precision where double is asked.
// kind: lower precision
// check: numerics | narrower arithmetic
// check-off: precision
#include <cuda_runtime.h>

static __global__ void each(const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float value = static_cast<float>(x[i]);
  y[i] = sqrtf(value) + 1.0f / value;
}

extern "C" cudaError_t map(const double* x, double* y, int n, cudaStream_t stream) {
  each<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
