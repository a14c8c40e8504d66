// Takes device memory until there is none, and does not look at the error (bounded).
#include <cuda_runtime.h>

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  for (int i = 0; i < 4096; ++i) {
    void* piece = nullptr;
    cudaMalloc(&piece, 1u << 30);  // expect-contract: interface run.limit
  }
  return cudaGetLastError();
}
