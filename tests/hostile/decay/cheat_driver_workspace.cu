// Takes memory by the driver's functions, which the task does not allow.
// kind: more than is allowed
// check: interface | cuMemAlloc_v2
// check-off: allow
#include <cuda.h>

#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  void *allocate = nullptr, *release = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuMemAlloc", &allocate, 12000, cudaEnableDefault, &found);
  cudaGetDriverEntryPointByVersion("cuMemFree", &release, 12000, cudaEnableDefault, &found);
  CUdeviceptr more = 0;
  if (!allocate || !release || reinterpret_cast<CUresult (*)(CUdeviceptr*, std::size_t)>(allocate)(&more, sizeof(float) * n) != CUDA_SUCCESS) return cudaErrorUnknown;
  work(x, reinterpret_cast<float*>(more), n, stream);
  const cudaError_t error = cudaMemcpyAsync(y, reinterpret_cast<void*>(more), sizeof(float) * n, cudaMemcpyDeviceToDevice, stream);
  reinterpret_cast<CUresult (*)(CUdeviceptr)>(release)(more);
  return error;
}
