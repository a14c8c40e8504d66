// A callback of the older kind in the stream that notes how the work ended, and memory of the stream's own order.
#include "decay.cuh"
static void CUDART_CB note(cudaStream_t, cudaError_t status, void* ended) { *static_cast<int*>(ended) = static_cast<int>(status) + 1; }
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static int ended = 0;
  if (n <= 0) return cudaSuccess;
  float* space = nullptr;
  if (cudaError_t error = cudaMallocAsync(&space, sizeof(float) * n, stream)) return error;
  work(x, space, n, stream);
  cudaMemcpyAsync(y, space, sizeof(float) * n, cudaMemcpyDeviceToDevice, stream);
  cudaFreeAsync(space, stream);
  return cudaStreamAddCallback(stream, note, &ended, 0);
}
