// Counts to 2^62: it would end, but nobody will see it.
#include <cuda_runtime.h>

__global__ void count(float* y, unsigned long long limit) {
  unsigned long long i = 0;
  float v = 0.0f;
  while (i < limit) {
    v = v * 1.0001f + 1.0f;
    ++i;
  }
  y[0] = v;
}

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  count<<<1, 32, 0, stream>>>(y, 1ull << 62);  // expect-contract: run.limit
  return cudaGetLastError();
}
