// Inclusive prefix sums by CUB, as a contestant of the rung "time". Filled in by forge/baselines.cc.
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

extern "C" cudaError_t @FUNCTION@(@PARAMETERS@, cudaStream_t stream) {
  static void* space = nullptr;
  static size_t room = 0;
  size_t bytes = 0;
  if (cudaError_t error = cub::DeviceScan::InclusiveSum(nullptr, bytes, @A@, @C@, @K@, stream)) return error;
  if (bytes > room) {
    if (space) cudaFree(space);
    if (cudaError_t error = cudaMalloc(&space, bytes)) return error;
    room = bytes;
  }
  return cub::DeviceScan::InclusiveSum(space, bytes, @A@, @C@, @K@, stream);
}
