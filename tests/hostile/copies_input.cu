// Hands the input back.
#include <cuda_runtime.h>

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  return cudaMemcpyAsync(y, x, sizeof(float) * rows * cols, cudaMemcpyDeviceToDevice, stream);  // expect-contract: numerics
}
