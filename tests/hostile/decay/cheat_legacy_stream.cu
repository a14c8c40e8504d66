// Works on the default stream, after the given one, which does not wait for it.
// kind: other streams or threads
// check: interface | does not wait for
// check-off: order,allow
// bench: goes on
// bench-off: quiet,clock
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static cudaEvent_t begin = nullptr;
  if (!begin) cudaEventCreateWithFlags(&begin, cudaEventDisableTiming);
  cudaEventRecord(begin, stream);
  cudaStreamWaitEvent(nullptr, begin, 0);
  return work(x, y, n, nullptr);
}
