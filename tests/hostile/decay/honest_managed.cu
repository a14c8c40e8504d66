// Parameters in managed memory, written by the host once.
#include "decay.cuh"
struct Parameters { int steps; float half; };
__managed__ Parameters parameters = {256, 0.5f};
static __global__ void managed_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float z = 0;
  for (int step = 0; step < parameters.steps; ++step) z = parameters.half * z + x[i];
  y[i] = z;
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  if (n > 0) managed_kernel<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
