// Lanes already lie along rows.
__global__ void k(const float* x, float* y, int h, int w) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y;  // row
  const int j = blockIdx.x * blockDim.x + threadIdx.x;  // column
  if (i < h && j < w) y[i * w + j] = x[i * w + j] + 1;
}

void run(const float* x, float* y, int h, int w) {
  k<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8)>>>(x, y, h, w);
}
