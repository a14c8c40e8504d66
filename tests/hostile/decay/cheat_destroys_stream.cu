// Destroys the given stream.
// kind: state left behind
// check: interface | ends the given stream
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  work(x, y, n, stream);
  return cudaStreamDestroy(stream);
}
