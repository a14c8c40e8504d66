// Throws past its caller.
// kind: does not return
// check: run.crash | ended by signal
#include <stdexcept>
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  work(x, y, n, stream);
  throw std::runtime_error("done");
}
