// Works, and leaves the given stream capturing: what comes after is recorded and never done.
// kind: state left behind
// check: interface | still being captured
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  work(x, y, n, stream);
  return cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
}
