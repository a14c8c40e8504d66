// A stream of its own that waits for the given one and is waited for.
// allow: streams
#include <cuda_runtime.h>

__global__ void decay_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float z = 0;
#pragma unroll 8
  for (int step = 0; step < 256; ++step) z = 0.5f * z + x[i];
  y[i] = z;
}


extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  static cudaEvent_t begin = nullptr, end = nullptr;
  if (!own) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&begin, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&end, cudaEventDisableTiming);
  }
  const int half = n / 2;
  cudaEventRecord(begin, stream);
  cudaStreamWaitEvent(own, begin, 0);
  if (half > 0) decay_kernel<<<(half + 255) / 256, 256, 0, own>>>(x, y, half);
  decay_kernel<<<(n - half + 255) / 256, 256, 0, stream>>>(x + half, y + half, n - half);
  cudaEventRecord(end, own);
  cudaStreamWaitEvent(stream, end, 0);
  return cudaGetLastError();
}
