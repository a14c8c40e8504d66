// A block a row.
#include <cuda_runtime.h>

static __device__ float across(float value, bool largest) {
  __shared__ float warps[8];
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, step);
    value = largest ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[0];
  for (int w = 1; w < 8; ++w) value = largest ? fmaxf(value, warps[w]) : value + warps[w];
  return value;
}

static __global__ void softmax_rows(const float* x, float* y, int cols) {
  const float* in = x + static_cast<long long>(blockIdx.x) * cols;
  float* out = y + static_cast<long long>(blockIdx.x) * cols;
  float most = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < cols; i += 256) most = fmaxf(most, in[i]);
  most = across(most, true);
  for (int i = threadIdx.x; i < cols; i += 256) sum += expf(in[i] - most);
  sum = across(sum, false);
  for (int i = threadIdx.x; i < cols; i += 256) out[i] = expf(in[i] - most) / sum;
}

extern "C" cudaError_t tiny(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  softmax_rows<<<rows, 256, 0, stream>>>(x, y, cols);
  return cudaGetLastError();
}
