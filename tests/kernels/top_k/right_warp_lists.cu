// Each lane keeps its own four in registers; four rounds take the best of the lanes' heads.
#include <cuda_runtime.h>

constexpr int kTop = 4, kNone = 0x7fffffff;

__device__ bool before(float v, int i, float w, int j) { return v > w || (v == w && i < j); }

__global__ void kernel(const float* x, float* value, int* at, int rows, int cols) {
  const int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
  if (row >= rows) return;
  float v[kTop];
  int p[kTop];
#pragma unroll
  for (int k = 0; k < kTop; ++k) { v[k] = -INFINITY; p[k] = kNone; }
  for (int c = lane; c < cols; c += 32) {
    float w = x[(size_t)row * cols + c];
    int j = c;
#pragma unroll
    for (int k = 0; k < kTop; ++k)
      if (before(w, j, v[k], p[k])) {
        const float a = v[k];
        const int b = p[k];
        v[k] = w; p[k] = j;
        w = a; j = b;
      }
  }
  for (int k = 0; k < kTop; ++k) {
    float best = v[0];
    int where = p[0];
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
      const float w = __shfl_xor_sync(0xffffffffu, best, o);
      const int j = __shfl_xor_sync(0xffffffffu, where, o);
      if (before(w, j, best, where)) { best = w; where = j; }
    }
    if (where == p[0]) {
#pragma unroll
      for (int i = 0; i + 1 < kTop; ++i) { v[i] = v[i + 1]; p[i] = p[i + 1]; }
      v[kTop - 1] = -INFINITY;
      p[kTop - 1] = kNone;
    }
    if (lane == 0) {
      value[row * kTop + k] = best;
      at[row * kTop + k] = where;
    }
  }
}

extern "C" cudaError_t top_k(const float* x, float* value, int* at, int rows, int cols, cudaStream_t stream) {
  kernel<<<(rows + 3) / 4, 128, 0, stream>>>(x, value, at, rows, cols);
  return cudaGetLastError();
}
