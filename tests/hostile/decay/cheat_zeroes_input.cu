// Leaves another input behind.
// kind: inputs changed
// check: interface | changed its input
// check-off: inputs
// bench: wrong
// bench-off: inputs
// fake: yes
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  work(x, y, n, stream);
  return cudaMemsetAsync(const_cast<float*>(x), 0, sizeof(float) * n, stream);
}
