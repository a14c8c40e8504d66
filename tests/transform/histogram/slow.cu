// Every element is an atomic on global memory.
#include <cstdint>

#include <cuda_runtime.h>

__global__ void clear(uint32_t* bins) { bins[threadIdx.x] = 0; }

__global__ void count(const uint8_t* data, uint32_t* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(&bins[data[i]], 1u);
}

extern "C" cudaError_t histogram(const uint8_t* data, uint32_t* bins, int n, cudaStream_t stream) {
  clear<<<1, 256, 0, stream>>>(bins);
  count<<<(n + 255) / 256, 256, 0, stream>>>(data, bins, n);
  return cudaGetLastError();
}
