// The input, as it is.
// kind: no-op on constant outputs
// check: numerics | copy of input
// check-off: degenerate
#include <cuda_runtime.h>

static __global__ void copy(const float* x, float* y, int elements) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) y[i] = x[i];
}

extern "C" cudaError_t centre(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  copy<<<(rows * cols + 255) / 256, 256, 0, stream>>>(x, y, rows * cols);
  return cudaGetLastError();
}
