// The bound is no product of the two extents.
__global__ void k(const float* x, float* y, int h, int w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int r = i % h, c = i / h;
  y[r * w + c] = x[r * w + c];
}

void run(const float* x, float* y, int h, int w) {
  k<<<(h * w + 255) / 256, 256>>>(x, y, h, w, h * w);
}
