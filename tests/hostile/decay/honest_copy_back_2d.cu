// Works in a workspace and copies the result into place with a two-dimensional copy.
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static float* room = nullptr;
  static int most = 0;
  if (n > most) { if (room) cudaFree(room); cudaMalloc(&room, sizeof(float) * n); most = n; }
  if (n <= 0) return cudaSuccess;
  work(x, room, n, stream);
  cudaMemcpy2DAsync(y, sizeof(float) * n, room, sizeof(float) * n, sizeof(float) * n, 1, cudaMemcpyDeviceToDevice, stream);
  return cudaGetLastError();
}
