// The flag is not written where it is false.
#include <cuda_runtime.h>

__device__ void better(float& v, int& i, float w, int j) {
  if (w > v || (w == v && j < i)) {
    v = w;
    i = j;
  }
}

__global__ void argmax_kernel(const float* x, int* index, float* value, bool* positive, int rows, int cols) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float v = -INFINITY;
  int at = cols;
  for (int c = lane; c < cols; c += 32) better(v, at, x[(size_t)row * cols + c], c);
  for (int o = 16; o > 0; o /= 2) {
    const float w = __shfl_xor_sync(0xffffffffu, v, o);
    const int j = __shfl_xor_sync(0xffffffffu, at, o);
    better(v, at, w, j);
  }
  if (lane == 0) {
    index[row] = at;
    value[row] = v;
    if (v > 1.5f) positive[row] = true;  // expect: launch.coverage
  }
}

extern "C" cudaError_t argmax(const float* x, int* index, float* value, bool* positive, int rows, int cols, cudaStream_t stream) {
  argmax_kernel<<<(rows + 3) / 4, 128, 0, stream>>>(x, index, value, positive, rows, cols);
  return cudaGetLastError();
}
