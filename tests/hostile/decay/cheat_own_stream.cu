// Works on a stream that waits for the given one and that nobody waits for.
// kind: other streams or threads
// check: interface | does not wait for
// check-off: order,allow
// bench: goes on
// bench-off: quiet,clock
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  static cudaEvent_t begin = nullptr;
  if (!own) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&begin, cudaEventDisableTiming);
  }
  cudaEventRecord(begin, stream);
  cudaStreamWaitEvent(own, begin, 0);
  return work(x, y, n, own);
}
