// Computed on the host from a copy.
#include <cstdint>
#include <cuda_runtime.h>

__global__ void hash(const uint32_t* x, uint32_t* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t v = x[i];
  if (i / 32 % 2 == 1) {
    for (int k = 0; k < 16; ++k) v = v * 2654435761u ^ (v >> 15);
  } else {
    for (int k = 0; k < 16; ++k) v = (v ^ (v << 7)) * 40503u;
  }
  y[i] = v;
}

extern "C" cudaError_t collatz(const uint32_t* x, uint32_t* y, int n, cudaStream_t stream) {
  uint32_t* h = new uint32_t[n];
  cudaMemcpyAsync(h, x, 4ull * n, cudaMemcpyDeviceToHost, stream);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < 16; ++k) h[i] = i / 32 % 2 ? h[i] * 2654435761u ^ (h[i] >> 15) : (h[i] ^ (h[i] << 7)) * 40503u;
  cudaMemcpyAsync(y, h, 4ull * n, cudaMemcpyHostToDevice, stream);  // expect-contract: launch.coverage
  delete[] h;
  return cudaGetLastError();
}
