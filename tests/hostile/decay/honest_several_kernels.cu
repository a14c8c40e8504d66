// Three kernels, the values between them in the output.
#include "decay.cuh"

static __global__ void scale(const float* x, float* y, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  if (n <= 0) return cudaSuccess;
  scale<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n, 0.25f);
  scale<<<(n + 255) / 256, 256, 0, stream>>>(y, y, n, 4.0f);
  return work(y, y, n, stream);
}
