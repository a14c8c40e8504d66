// The kernel knows its block: the exchange alone.
__global__ void k(const float* x, float* y, int h, int w) {
  const int i = blockIdx.x * 32 + threadIdx.x;  // row
  const int j = blockIdx.y * 8 + threadIdx.y;   // column
  if (i < h && j < w) y[i * w + j] = x[i * w + j] + 1;
}

void run(const float* x, float* y, int h, int w) {
  k<<<dim3((h + 31) / 32, (w + 7) / 8), dim3(32, 8)>>>(x, y, h, w);
}
