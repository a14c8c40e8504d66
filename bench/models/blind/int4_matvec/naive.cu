#include <cuda_runtime.h>

__device__ int column(int j) { return (j & 1) * 4 + (j >> 1); }

__global__ void rows_one_by_one(const unsigned* packed, const float* scale, const float* x, float* y, int words, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int w = 0; w < words; ++w) {
    const unsigned word = packed[static_cast<long long>(w) * rows + row];
    for (int j = 0; j < 8; ++j) sum += (static_cast<int>(word >> (4 * j) & 15u) - 8) * scale[static_cast<long long>(row) * (words / 8) + w / 8] * x[w * 8 + column(j)];
  }
  y[row] = sum;
}

extern "C" cudaError_t int4_matvec(const unsigned* packed, const float* scale, const float* x, float* y, int words, int rows, cudaStream_t stream) {
  rows_one_by_one<<<(rows + 127) / 128, 128, 0, stream>>>(packed, scale, x, y, words, rows);
  return cudaGetLastError();
}
