// A host function in the stream that counts calls.
#include "decay.cuh"

static void count(void* calls) { ++*static_cast<int*>(calls); }

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static int calls = 0;
  work(x, y, n, stream);
  return cudaLaunchHostFunc(stream, count, &calls);
}
