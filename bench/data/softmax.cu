#include <math_constants.h>
// Softmax of each row, one block of 256 threads a row: warp shuffles, then shared memory.
__device__ float block_reduce(float v, bool maximum) {
  __shared__ float part[8];
  for (int d = 16; d > 0; d /= 2) {
    const float o = __shfl_xor_sync(0xffffffffu, v, d);
    v = maximum ? fmaxf(v, o) : v + o;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  v = part[0];
  for (int i = 1; i < 8; ++i) v = maximum ? fmaxf(v, part[i]) : v + part[i];
  return v;
}

extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
  const float* in = x + (size_t)blockIdx.x * cols;
  float* out = y + (size_t)blockIdx.x * cols;
  float m = -CUDART_INF_F;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) m = fmaxf(m, in[i]);
  m = block_reduce(m, true);
  float s = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) s += expf(in[i] - m);
  s = block_reduce(s, false);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[i] = expf(in[i] - m) / s;
}
