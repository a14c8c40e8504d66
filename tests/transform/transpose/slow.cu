// One element a thread; writes lie a column apart.
#include <cuda_runtime.h>

__global__ void turn(const float* in, float* out, int rows, int cols) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= cols || y >= rows) return;
  out[x * rows + y] = in[y * cols + x];  // along x in, across it out
}

extern "C" cudaError_t transpose(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  turn<<<dim3((cols + 31) / 32, (rows + 7) / 8), dim3(32, 8), 0, stream>>>(in, out, rows, cols);
  return cudaGetLastError();
}
