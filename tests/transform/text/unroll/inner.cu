// Inner loops only, and not those that are unrolled.
__global__ void k(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < 8; ++j) y[i] += x[j];
#pragma unroll 2
    for (int j = 0; j < n; ++j) y[i] += x[j];
  }
}

void run(const float* x, float* y, int n) {
  k<<<(n + 255) / 256, 256>>>(x, y, n);
}
