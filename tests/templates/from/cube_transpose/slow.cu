// An element a thread, in the order of the input.
#include <cuda_runtime.h>

__global__ void turn(const float* x, float* y, int depth, int rows, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= depth * rows * cols) return;
  int c = i % cols;
  int r = i / cols % rows;
  int d = i / (cols * rows);
  y[(c * rows + r) * depth + d] = x[i];
}

extern "C" cudaError_t cube_transpose(const float* x, float* y, int depth, int rows, int cols, cudaStream_t stream) {
  turn<<<(depth * rows * cols + 255) / 256, 256, 0, stream>>>(x, y, depth, rows, cols);
  return cudaGetLastError();
}
