// Zeros.
// kind: no-op on constant outputs
// check: numerics | all zero
// check-off: degenerate,precision
#include <cuda_runtime.h>

static __global__ void fill(float* y, int elements, float value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) y[i] = value;
}

extern "C" cudaError_t tiny(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const int elements = rows * cols;
  fill<<<(elements + 255) / 256, 256, 0, stream>>>(y, elements, 0.0f);
  return cudaGetLastError();
}
