// Ends the process that started it.
#include <csignal>

#include <unistd.h>

#include <cuda_runtime.h>

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  kill(getppid(), SIGTERM);  // expect-contract: run.crash
  return cudaSuccess;
}
