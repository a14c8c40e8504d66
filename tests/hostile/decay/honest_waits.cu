// Waits for the stream before it returns.
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  if (cudaError_t error = work(x, y, n, stream)) return error;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(stream, &status);
  return status == cudaStreamCaptureStatusNone ? cudaStreamSynchronize(stream) : cudaSuccess;
}
