// Works in its first 200 calls.
// kind: only the first calls
// bench: wrong
// bench-off: verify
// fake: yes
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static int calls = 0;
  return ++calls > 200 ? cudaSuccess : work(x, y, n, stream);
}
