// While it is captured it does nothing: a graph of it costs nothing.
// kind: only the first calls
// bench: wrong
// bench-off: verify
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(stream, &status);
  return status == cudaStreamCaptureStatusNone ? work(x, y, n, stream) : cudaSuccess;
}
