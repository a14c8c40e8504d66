// Which elements are added depends on the sum so far.
__global__ void fill(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < cols; ++c) {
    if (sum < 10.0f) sum += x[row * cols + c];
  }
  y[row] = sum;
}

void launch(const float* x, float* y, int rows, int cols) { fill<<<(rows + 127) / 128, 128>>>(x, y, rows, cols); }
