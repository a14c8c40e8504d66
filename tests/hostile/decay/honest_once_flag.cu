// What it needs is made once, under a flag for threads.
#include <mutex>

#include "decay.cuh"

static __global__ void strided(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = decayed(x[i]);
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static std::once_flag once;
  static int units = 0;
  std::call_once(once, [] { cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, 0); });
  strided<<<units * 4, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
