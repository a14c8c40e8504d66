// Rounds upwards and flushes what is tiny while it works something out on the host, and puts both back.
#include <cfenv>
#include <xmmintrin.h>
#include "decay.cuh"
static __global__ void scaled(const float* x, float* y, int n, float up) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = up * decayed(x[i]);
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  const int mode = std::fegetround();
  const unsigned state = _mm_getcsr();
  std::fesetround(FE_UPWARD);
  _mm_setcsr(_mm_getcsr() | 0x8040);
  volatile float third = 1.0f, three = 3.0f;
  const float up = third / three > 0.33f ? 1.0f : 0.0f;
  if (n > 0) scaled<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n, up);   // while they are set: a GPU does not know of them
  const cudaError_t error = cudaGetLastError();
  std::fesetround(mode);
  _mm_setcsr(state);
  return error;
}
