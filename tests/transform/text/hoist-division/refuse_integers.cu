// Integers do not divide so.
__global__ void k(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += 256) y[i] = i / n;
}

void run(const float* x, float* y, int n) {
  k<<<(n + 255) / 256, 256>>>(x, y, n);
}
