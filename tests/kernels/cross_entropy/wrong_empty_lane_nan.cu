// A lane without elements gives NaN.
#include <cuda_runtime.h>

__global__ void kernel(const float* x, const int* label, float* loss, float* grad, int rows, int classes) {
  const int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += (long long)row * classes;
  grad += (long long)row * classes;
  float top = -INFINITY, sum = 0;
  for (int c = lane; c < classes; c += warpSize) {
    const float v = __ldg(x + c), higher = fmaxf(top, v);
    sum = sum * __expf(top - higher) + __expf(v - higher);
    top = higher;
  }
  for (int o = 1; o < 32; o *= 2) {
    const float other = __shfl_xor_sync(~0u, top, o), s = __shfl_xor_sync(~0u, sum, o), higher = fmaxf(top, other);
    sum = sum * __expf(top - higher) + s * __expf(other - higher);
    top = higher;
  }
  const int right = label[row];
  if (lane == 0) loss[row] = top + __logf(sum) - x[right];  // expect: numerics
  for (int c = lane; c < classes; c += 32) grad[c] = __fdividef(__expf(x[c] - top), sum) - (c == right);
}

extern "C" cudaError_t cross_entropy(const float* x, const int* label, float* loss, float* grad, int rows, int classes, cudaStream_t stream) {
  kernel<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, label, loss, grad, rows, classes);
  return cudaPeekAtLastError();
}
