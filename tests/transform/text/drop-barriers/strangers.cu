// Threads share nothing.
__global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  if (i < n) y[i] = x[i];
  __syncthreads();  // for luck
}

void run(const float* x, float* y, int n) {
  k<<<(n + 255) / 256, 256>>>(x, y, n);
}
