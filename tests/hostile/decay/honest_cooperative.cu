// A cooperative launch: all blocks meet between the two passes.
#include <cooperative_groups.h>

#include "decay.cuh"

static __global__ void two_passes(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 0.5f * x[i];
  cooperative_groups::this_grid().sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = decayed(2.0f * y[i]);
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static int blocks = 0;
  if (blocks == 0) {
    int device = 0, units = 0, each = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, two_passes, 256, 0);
    blocks = units * (each < 2 ? each : 2);
  }
  const int wanted = (n + 255) / 256, grid = wanted < blocks ? wanted : blocks;
  if (n <= 0) return cudaSuccess;
  void* arguments[] = {&x, &y, &n};
  return cudaLaunchCooperativeKernel(reinterpret_cast<void*>(two_passes), grid, 256, arguments, 0, stream);
}
