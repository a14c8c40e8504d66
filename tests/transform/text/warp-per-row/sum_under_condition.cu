// Sums of what is positive and of what is not, a count, and a masked store.
#include <cuda_runtime.h>

__global__ void halves(const float* x, const int* mask, float* positive, float* other, int* counts, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float above = 0.0f, below = 0.0f;
  int count = 0;
  for (int c = 0; c < cols; ++c) {
    const float value = x[row * cols + c];
    // both kinds are wanted
    if (value > 0.0f) {
      above += value;
      ++count;
    } else {
      below += value;
    }
    if (mask[c] != 0) y[row * cols + c] = value;
  }
  positive[row] = above;
  other[row] = below;
  counts[row] = count;
}

void launch(const float* x, const int* mask, float* positive, float* other, int* counts, float* y, int rows, int cols, cudaStream_t stream) {
  halves<<<(rows + 127) / 128, 128, 0, stream>>>(x, mask, positive, other, counts, y, rows, cols);
}
