// Half of the elements in the given stream; for the other half the join is recorded before the work.
// kind: other streams or threads
// check: interface | does not wait for
// check-off: order,allow
// bench: goes on
// bench-off: quiet,clock
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  static cudaEvent_t begin = nullptr, end = nullptr;
  if (!own) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&begin, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&end, cudaEventDisableTiming);
  }
  const int half = n / 2;
  cudaEventRecord(begin, stream);
  cudaStreamWaitEvent(own, begin, 0);
  cudaEventRecord(end, own);
  cudaStreamWaitEvent(stream, end, 0);
  for (int i = 0; i < 8; ++i) work(x + half, y + half, n - half, own);
  return work(x, y, half, stream);
}
