// A stream of its own that waits for the given one and is waited for.
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  static cudaEvent_t begin = nullptr, end = nullptr;
  if (!own) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&begin, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&end, cudaEventDisableTiming);
  }
  cudaEventRecord(begin, stream);
  cudaStreamWaitEvent(own, begin, 0);
  work(x, y, n / 2, own);
  work(x + n / 2, y + n / 2, n - n / 2, stream);
  cudaEventRecord(end, own);
  return cudaStreamWaitEvent(stream, end, 0);
}
