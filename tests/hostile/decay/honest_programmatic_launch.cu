// Two kernels with programmatic dependent launch: the second starts early and waits for the first.
#include "decay.cuh"

static __global__ void halve(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i];
  cudaTriggerProgrammaticLaunchCompletion();
}

static __global__ void finish(float* y, int n) {
  cudaGridDependencySynchronize();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = decayed(2.0f * y[i]);
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((n + 255) / 256);
  config.blockDim = dim3(256);
  config.stream = stream;
  if (n <= 0) return cudaSuccess;
  halve<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, finish, y, n);
}
