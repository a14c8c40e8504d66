// Takes memory and waits, which the task does not allow, then tells the emulated runtime that a new call begins: what it saw would be forgotten.
#include <cuda_runtime.h>

extern "C" __attribute__((weak)) void kforge_cudart_begin_call(void* stream, unsigned long long instructions, double seconds, unsigned long long sampled);

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  void* more = nullptr;
  cudaMalloc(&more, 1 << 20);
  cudaFree(more);
  if (kforge_cudart_begin_call) kforge_cudart_begin_call(stream, 2000000000ull, 20, 0);  // expect-contract: interface
  return cudaMemsetAsync(y, 0, sizeof(float) * rows * cols, stream);
}
