// An iteration reads what another one wrote.
__global__ void k(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  for (int c = 1; c < cols; ++c) y[row * cols + c] = y[row * cols + c - 1] + x[row * cols + c];
}

void run(const float* x, float* y, int rows, int cols) {
  k<<<(rows + 127) / 128, 128>>>(x, y, rows, cols);
}
