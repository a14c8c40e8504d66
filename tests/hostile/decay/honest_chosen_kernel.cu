// A kernel out of a table of functions, launched by its address.
#include "decay.cuh"

static __global__ void backwards(const float* x, float* y, int n) {
  const int i = n - 1 - static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= 0) y[i] = decayed(x[i]);
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static const void* const kernels[] = {reinterpret_cast<const void*>(decay_kernel), reinterpret_cast<const void*>(backwards)};
  void* arguments[] = {&x, &y, &n};
  return n > 0 ? cudaLaunchKernel(kernels[n % 2], dim3((n + 255) / 256), dim3(256), arguments, 0, stream) : cudaSuccess;
}
