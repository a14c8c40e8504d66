// Host code may be as double as it likes.
__global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}

void run(const float* x, float* y, int n, double z = 2.0) {
  k<<<(n + 255) / 256, 256>>>(x, y, n);
}
