// The scale is missing.
#include <cuda_runtime.h>

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, cudaStream_t stream) {  // expect: interface
  return cudaMemcpyAsync(y, x, sizeof(float) * rows * cols, cudaMemcpyDeviceToDevice, stream);
}
