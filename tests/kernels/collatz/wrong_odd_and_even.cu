// Odd and even lanes take different branches.
#include <cstdint>
#include <cuda_runtime.h>

__global__ void hash(const uint32_t* x, uint32_t* y, int n) {
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t / 64 * 64 + t % 2 * 32 + t % 64 / 2;  // expect-contract: compute.divergence
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
  hash<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
