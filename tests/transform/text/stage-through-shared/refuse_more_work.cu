// There is more than the copy.
__global__ void k(const float* in, float* out, int rows, int cols) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < cols && y < rows) { out[x * rows + y] = in[y * cols + x]; out[0] = 1; }
}

void run(const float* in, float* out, int rows, int cols) {
  k<<<dim3((cols + 31) / 32, (rows + 7) / 8), dim3(32, 8)>>>(in, out, rows, cols);
}
