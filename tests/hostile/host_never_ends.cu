// The launcher does not return; bounded at ten minutes.
#include <chrono>

#include <cuda_runtime.h>

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  while (std::chrono::steady_clock::now() < end) {  // expect-contract: run.limit
  }
  return cudaSuccess;
}
