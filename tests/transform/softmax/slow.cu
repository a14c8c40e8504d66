// A thread a row; the maximum by comparison, the exponentials kept in the output until they are divided.
#include <cuda_runtime.h>

template <typename T>
__global__ void softmax_kernel(const T* x, T* y, int rows, int cols)
{
  int r = threadIdx.x + blockIdx.x * blockDim.x;
  if (r >= rows) return;
  float largest = x[(long)r * cols];
  for (int c = 1; c < cols; ++c)
  {
    if (x[(long)r * cols + c] > largest) largest = x[(long)r * cols + c];
  }
  float sum = 0.0f;
  for (int c = 0; c < cols; ++c)
  {
    y[(long)r * cols + c] = expf(x[(long)r * cols + c] - largest);
    sum += expf(x[(long)r * cols + c] - largest);
  }
  for (int c = 0; c < cols; ++c) y[(long)r * cols + c] /= sum;
}

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, cudaStream_t stream)
{
  softmax_kernel<float><<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}
