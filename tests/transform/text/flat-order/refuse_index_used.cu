// The flat index itself is an address.
__global__ void k(const float* x, float* y, int h, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= h * w) return;
  int r = i % h, c = i / h;
  y[i] = x[r * w + c];
}

void run(const float* x, float* y, int h, int w) {
  k<<<(h * w + 255) / 256, 256>>>(x, y, h, w);
}
