// Recursion, a function pointer and printf in a path that is not taken.
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>

__device__ __noinline__ uint32_t odd(uint32_t v, int k) { return k == 0 ? v : odd(v * 2654435761u ^ (v >> 15), k - 1); }
__device__ __noinline__ uint32_t even(uint32_t v, int k) { return k == 0 ? v : even((v ^ (v << 7)) * 40503u, k - 1); }
__device__ uint32_t (*table[2])(uint32_t, int) = {even, odd};

__global__ void hash(const uint32_t* x, uint32_t* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t v = x[i];
  v = table[i / 32 % 2](v, 16);
  if (i < 0) printf("negative %d\n", i);
  y[i] = v;
}

extern "C" cudaError_t collatz(const uint32_t* x, uint32_t* y, int n, cudaStream_t stream) {
  hash<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
