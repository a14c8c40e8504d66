// Takes the input for scratch space and puts it back.
// kind: inputs changed
// check: interface | changed its input
// check-off: inputs
#include "decay.cuh"

static __global__ void in_place(float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float kept = x[i];
  x[i] = decayed(kept);
  __threadfence();
  y[i] = x[i];
  x[i] = kept;
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  in_place<<<(n + 255) / 256, 256, 0, stream>>>(const_cast<float*>(x), y, n);
  return cudaGetLastError();
}
