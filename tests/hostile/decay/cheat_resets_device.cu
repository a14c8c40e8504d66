// Resets the device when it is done.
// kind: state left behind
// check: interface | takes the caller's memory
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  work(x, y, n, stream);
  return cudaDeviceReset();
}
