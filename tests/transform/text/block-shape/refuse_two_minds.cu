// Two rows, each along another axis of the grid: its extents cannot both follow the block's.
__global__ void k(const float* x, float* y, int h, int w) {
  const int i = blockIdx.x * blockDim.y + threadIdx.y, l = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.y * blockDim.x + threadIdx.x;
  if (i < h && l < h && j < w) y[i * w + j] = x[l * w + j] + 1;
}

void run(const float* x, float* y, int h, int w) {
  k<<<dim3((h + 7) / 8, (w + 7) / 8), dim3(8, 8)>>>(x, y, h, w);
}
