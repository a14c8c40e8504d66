// Forks again and again (bounded: 8 processes that end at once).
#include <unistd.h>

#include <cuda_runtime.h>

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  for (int i = 0; i < 8; ++i)
    if (fork() == 0) _exit(0);  // expect-contract: run.crash
  return cudaSuccess;
}
