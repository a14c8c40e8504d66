// The launch by cudaLaunchKernelExC, with a cluster of one block.
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((n + 127) / 128);
  config.blockDim = dim3(128);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  void* arguments[] = {&x, &y, &n};
  return n > 0 ? cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(decay_kernel), arguments) : cudaSuccess;
}
