// Runs a kernel on the default stream while the object is loaded, before anybody counts.
// kind: more than is allowed
// check: interface | __cudaLaunchKernel
// check-off: allow
#include "decay.cuh"
__device__ float weights[1];
static __global__ void prepare() { weights[0] = 2.0f; }
static __global__ void weighted(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = weights[0] * x[i];
}
static struct AtLoad { AtLoad() { prepare<<<1, 1>>>(); cudaDeviceSynchronize(); } } at_load;
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  if (n > 0) weighted<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
