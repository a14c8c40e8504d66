// Chooses between two block sizes by timing them itself in its first calls.
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static int best = 0;
  if (n <= 0) return cudaSuccess;
  if (best == 0 && n >= 1000) {
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    float least = 1e30f;
    for (int block : {64, 256}) {
      cudaEventRecord(begin, stream);
      decay_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, y, n);
      cudaEventRecord(end, stream);
      cudaEventSynchronize(end);
      float ms = 0;
      cudaEventElapsedTime(&ms, begin, end);
      if (ms < least) { least = ms; best = block; }
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return cudaGetLastError();
  }
  const int block = best ? best : 128;
  decay_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
