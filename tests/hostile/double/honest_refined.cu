// A single-precision start, refined to double precision by Newton's method.
#include <cuda_runtime.h>

static __global__ void each(const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double value = x[i];
  double root = rsqrtf(static_cast<float>(value)), inverse = __frcp_rn(static_cast<float>(value));
  for (int step = 0; step < 3; ++step) {
    root = root * (1.5 - 0.5 * value * root * root);
    inverse = inverse * (2.0 - value * inverse);
  }
  y[i] = value * root + inverse;
}

extern "C" cudaError_t map(const double* x, double* y, int n, cudaStream_t stream) {
  each<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
