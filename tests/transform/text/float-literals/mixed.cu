// 1.0 and .5 and 1e-3, but not 1.0f, 3 or 0x1; comments with 2.0 stay.
__global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 1.0 * x[i] + .5 - 1e-3 * 3 + 2.f * 0x1 + fmax(x[i], 0.) + 1.;  // 2.0
}

void run(const float* x, float* y, int n) {
  k<<<(n + 255) / 256, 256>>>(x, y, n);
}
