// A workspace taken and freed in each call.
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  float* space = nullptr;
  if (cudaError_t error = cudaMalloc(&space, sizeof(float) * (n + 1))) return error;
  work(x, space, n, stream);
  cudaMemcpyAsync(y, space, sizeof(float) * n, cudaMemcpyDeviceToDevice, stream);
  return cudaFree(space);
}
