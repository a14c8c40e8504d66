// Two kernels, each on half of the elements.
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  work(x, y, n / 2, stream);
  return work(x + n / 2, y + n / 2, n - n / 2, stream);
}
