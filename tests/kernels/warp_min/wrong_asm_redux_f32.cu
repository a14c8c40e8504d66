// redux.sync on floats is for sm_100a.
#include <cuda_runtime.h>

__global__ void warp_min_kernel(const int* x, int* low, bool* any, int rows) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const int v = x[row * 32 + threadIdx.x];
  float least;
  asm("redux.sync.min.f32 %0, %1, 0xffffffff;" : "=f"(least) : "f"((float)v));  // expect-contract: portability build
  const bool found = __any_sync(0xffffffffu, v > 90000);
  if (threadIdx.x == 0) {
    low[row] = least;
    any[row] = found;
  }
}

extern "C" cudaError_t warp_min(const int* x, int* low, bool* any, int rows, cudaStream_t stream) {
  warp_min_kernel<<<(rows + 7) / 8, dim3(32, 8), 0, stream>>>(x, low, any, rows);
  return cudaGetLastError();
}
