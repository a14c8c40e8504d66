// One lane does the work of its warp.
#include <cstdint>
#include <cuda_runtime.h>

__global__ void hash(const uint32_t* x, uint32_t* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 32 != 0) return;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x, e = min(n, i + 32); i < e; ++i) {
  uint32_t v = x[i];
  if (i / 32 % 2 == 1) {
    for (int k = 0; k < 16; ++k) v = v * 2654435761u ^ (v >> 15);
  } else {
    for (int k = 0; k < 16; ++k) v = (v ^ (v << 7)) * 40503u;
  }
  y[i] = v;  // expect-contract: compute.divergence
  }
}

extern "C" cudaError_t collatz(const uint32_t* x, uint32_t* y, int n, cudaStream_t stream) {
  hash<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
