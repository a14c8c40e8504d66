// A guard that returns; the index is used as a value.
__global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  // clamp
  const float v = x[i] > 0 ? x[i] : 0;
  y[i] = v + i;
}

void run(const float* x, float* y, int n) {
  k<<<(n + 255) / 256, 256>>>(x, y, n);
}
