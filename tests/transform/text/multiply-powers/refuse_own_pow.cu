// Another pow.
__device__ float powf(float a, int b) { return a - b; }
__global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = powf(x[i], 2);
}

void run(const float* x, float* y, int n) {
  k<<<(n + 255) / 256, 256>>>(x, y, n);
}
