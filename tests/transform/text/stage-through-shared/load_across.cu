// Writes along x, reads across; the guard holds the work.
__global__ void k(const float* in, float* out, int rows, int cols) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < rows && y < cols)
    out[y * rows + x] = in[x * cols + y];
}

void run(const float* in, float* out, int rows, int cols) {
  k<<<dim3((rows + 15) / 16, (cols + 15) / 16), dim3(16, 16)>>>(in, out, rows, cols);
}
