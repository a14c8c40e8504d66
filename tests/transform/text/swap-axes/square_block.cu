// The block need not change. Named extents.

__global__ void k(const float* x, float* y, int h, int w)
{
  int i = blockIdx.x*blockDim.x + threadIdx.x, j = blockIdx.y*blockDim.y+threadIdx.y;
  if (i>=h||j>=w) return;
  y[i*w+j] = 2*x[i*w+j];
}
void run(const float* x, float* y, int h, int w) {
  dim3 threads(16, 16), blocks;
  blocks = dim3((h + 15) / 16, (w + 15) / 16);
  k<<<blocks, threads>>>(x, y, h, w);
}
