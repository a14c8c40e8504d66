// Spoils one element of the input after 150 calls.
// kind: inputs changed
// bench: wrong
// bench-off: inputs
// fake: yes
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static int calls = 0;
  work(x, y, n, stream);
  return ++calls > 150 ? cudaMemsetAsync(const_cast<float*>(x), 0x11, sizeof(float), stream) : cudaGetLastError();
}
