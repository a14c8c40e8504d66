// Works on a stream that nobody joins.
// kind: other streams or threads
// check: interface | does not wait for
// check-off: order,allow
// bench: goes on
// bench-off: quiet,clock
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t) {
  static cudaStream_t own = nullptr;
  if (!own) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  return work(x, y, n, own);
}
