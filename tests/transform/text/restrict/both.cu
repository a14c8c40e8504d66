// const where nothing is written.
__global__ void k(float *x, const float* w, float *__restrict__ y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + w[i];
}

void run(float* a, float* b, float* c, int n) {
  k<<<(n + 255) / 256, 256>>>(a, b, c, n);
}
