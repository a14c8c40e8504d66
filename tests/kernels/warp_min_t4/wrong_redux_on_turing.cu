// Turing has no redux.sync.
#include <cuda_runtime.h>

__global__ void warp_min_kernel(const int* x, int* low, bool* any, int rows) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const int v = x[row * 32 + threadIdx.x];
  const int least = __reduce_min_sync(0xffffffffu, v);  // expect-contract: portability build
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
