// Waits for the stream by the driver's function, which the task does not allow.
// kind: more than is allowed
// check: interface | cuStreamSynchronize
// check-off: allow
#include "decay.cuh"

extern "C" int cuStreamSynchronize(cudaStream_t stream);   // of the driver, which is loaded

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  work(x, y, n, stream);
  return static_cast<cudaError_t>(cuStreamSynchronize(stream));
}
