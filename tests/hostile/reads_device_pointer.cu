// Reads a device pointer on the host.
#include <cuda_runtime.h>

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  return x[0] == 0.0f ? cudaSuccess : cudaErrorUnknown;  // expect-contract: run.crash
}
