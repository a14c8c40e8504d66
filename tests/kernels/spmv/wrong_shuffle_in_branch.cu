// The shuffle stands inside the guard, the mask names all.
#include <cuda_runtime.h>

__global__ void spmv_kernel(const float* value, const int* column, const float* x, float* y, int rows) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < 8 * rows) {
    float v = value[k] * x[column[k]];
    for (int o = 4; o > 0; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o, 8);  // expect: safety.barriers
    if (k % 8 == 0) y[k / 8] = v;
  }
  __syncwarp();
  if (k == -1) y[0] = 0;
}

extern "C" cudaError_t spmv(const float* value, const int* column, const float* x, float* y, int rows, cudaStream_t stream) {
  spmv_kernel<<<(8 * rows + 255) / 256, 256, 0, stream>>>(value, column, x, y, rows);
  return cudaGetLastError();
}
