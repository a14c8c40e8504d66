// Parameters that travel through pinned memory.
#include "decay.cuh"

static __global__ void by_parameters(const float* x, float* y, const float* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float z = 0;
  for (int step = 0; step < 256; ++step) z = p[0] * z + p[1] * x[i];
  y[i] = z;
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static float* pinned = nullptr;
  static float* on_device = nullptr;
  if (!pinned) {
    if (cudaError_t error = cudaMallocHost(&pinned, 2 * sizeof(float))) return error;
    if (cudaError_t error = cudaMalloc(&on_device, 2 * sizeof(float))) return error;
    pinned[0] = 0.5f;
    pinned[1] = 1.0f;
  }
  cudaMemcpyAsync(on_device, pinned, 2 * sizeof(float), cudaMemcpyHostToDevice, stream);
  by_parameters<<<(n + 255) / 256, 256, 0, stream>>>(x, y, on_device, n);
  return cudaGetLastError();
}
