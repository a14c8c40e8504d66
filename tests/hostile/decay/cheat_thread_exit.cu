// Ends the thread that called it.
// kind: does not return
// check: run.crash | ended by signal
#include <pthread.h>
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  work(x, y, n, stream);
  pthread_exit(nullptr);
}
