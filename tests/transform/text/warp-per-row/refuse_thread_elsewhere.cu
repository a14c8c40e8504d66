// The thread's place is used for more than the row.
__global__ void k(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float s = threadIdx.x;
  for (int c = 0; c < cols; ++c) s += x[row * cols + c];
  y[row] = s;
}

void run(const float* x, float* y, int rows, int cols) {
  k<<<(rows + 127) / 128, 128>>>(x, y, rows, cols);
}
