// A name that nobody declared.
#include <cuda_runtime.h>

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  return cudaMemcpyAsync(y, x, elements * sizeof(float), cudaMemcpyDeviceToDevice, stream);  // expect: build
}
