// A list in ascending order by CUB, as a contestant of the rung "time". Filled in by forge/baselines.cc.
#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>

extern "C" cudaError_t @FUNCTION@(@PARAMETERS@, cudaStream_t stream) {
  static void* space = nullptr;
  static size_t room = 0;
  size_t bytes = 0;
  const int bits = 8 * static_cast<int>(sizeof *@A@);
  if (cudaError_t error = cub::DeviceRadixSort::SortKeys(nullptr, bytes, @A@, @C@, @K@, 0, bits, stream)) return error;
  if (bytes > room) {
    if (space) cudaFree(space);
    if (cudaError_t error = cudaMalloc(&space, bytes)) return error;
    room = bytes;
  }
  return cub::DeviceRadixSort::SortKeys(space, bytes, @A@, @C@, @K@, 0, bits, stream);
}
