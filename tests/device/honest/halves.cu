// Two kernels, each on half of the elements.
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
  const int half = n / 2;
  if (half > 0) decay_kernel<<<(half + 127) / 128, 128, 0, stream>>>(x, y, half);
  decay_kernel<<<(n - half + 127) / 128, 128, 0, stream>>>(x + half, y + half, n - half);
  return cudaGetLastError();
}
