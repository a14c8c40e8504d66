// The square root in single precision, the rest in double.
// kind: lower precision
// check: numerics | narrower arithmetic
// check-off: precision
#include <cuda_runtime.h>

static __global__ void each(const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = static_cast<double>(__fsqrt_rn(static_cast<float>(x[i]))) + 1.0 / x[i];
}

extern "C" cudaError_t map(const double* x, double* y, int n, cudaStream_t stream) {
  each<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
