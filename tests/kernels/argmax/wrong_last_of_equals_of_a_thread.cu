// Of equal elements that one thread meets, the last; between threads, the first. Only a row longer than a block of 64 with ties shows it.
#include <cuda_runtime.h>

constexpr int kThreads = 64;

__device__ void better(float& v, int& i, float w, int j) {
  if (w > v || (w == v && j < i)) {
    v = w;
    i = j;
  }
}

__global__ void argmax_kernel(const float* x, int* index, float* value, bool* positive, int rows, int cols) {
  __shared__ float values[2];
  __shared__ int indices[2];
  const int row = blockIdx.x, t = threadIdx.x;
  float v = -INFINITY;
  int at = 0x7fffffff;
  for (int c = t; c < cols; c += kThreads) {
    const float w = x[(size_t)row * cols + c];
    if (w >= v) {
      v = w;
      at = c;
    }
  }
  for (int o = 16; o > 0; o /= 2) {
    const float w = __shfl_xor_sync(0xffffffffu, v, o);
    const int j = __shfl_xor_sync(0xffffffffu, at, o);
    better(v, at, w, j);
  }
  if (t % 32 == 0) {
    values[t / 32] = v;
    indices[t / 32] = at;
  }
  __syncthreads();
  if (t == 0) {
    better(v, at, values[1], indices[1]);
    index[row] = at;  // expect-contract: numerics
    value[row] = v;
    positive[row] = v > 1.5f;
  }
}

extern "C" cudaError_t argmax(const float* x, int* index, float* value, bool* positive, int rows, int cols, cudaStream_t stream) {
  argmax_kernel<<<rows, kThreads, 0, stream>>>(x, index, value, positive, rows, cols);
  return cudaGetLastError();
}
