// Each round needs the one before.
__global__ void k(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float s = 0;
  for (int c = 0; c < cols; ++c) { s = 0.5f * s + x[row * cols + c]; y[row * cols + c] = s; }
}

void run(const float* x, float* y, int rows, int cols) {
  k<<<(rows + 127) / 128, 128>>>(x, y, rows, cols);
}
