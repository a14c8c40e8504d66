// A workspace of its own, kept from call to call and used in each.
// allow: workspace
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
  static float* space = nullptr;
  static int room = 0;
  if (room < n) {
    if (space) cudaFree(space);
    if (cudaError_t error = cudaMalloc(&space, sizeof(float) * n)) return error;
    room = n;
  }
  decay_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, space, n);
  return cudaMemcpyAsync(y, space, sizeof(float) * n, cudaMemcpyDeviceToDevice, stream);
}
