// The last vector of a row whose length is no multiple of four reaches past the row, and in the last row past the tensor.
#include <cfloat>

#include <cuda_runtime.h>

constexpr int kThreads = 256;

__global__ void softmax_rows(const float* x, float* y, int cols, float scale) {
  x += static_cast<long long>(blockIdx.x) * cols;
  y += static_cast<long long>(blockIdx.x) * cols;
  __shared__ float largest, sum;
  if (threadIdx.x == 0) {
    float m = -FLT_MAX, s = 0.0f;
    for (int col = 0; col < cols; ++col) m = fmaxf(m, scale * x[col]);
    for (int col = 0; col < cols; ++col) s += expf(scale * x[col] - m);
    largest = m;
    sum = s;
  }
  __syncthreads();
  for (int col = threadIdx.x * 4; col < cols; col += kThreads * 4)
    for (int i = 0; i < 4; ++i)
      y[col + i] = expf(scale * x[col + i] - largest) / sum;  // expect: safety.bounds
}

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  softmax_rows<<<rows, kThreads, 0, stream>>>(x, y, cols, scale);
  return cudaGetLastError();
}
