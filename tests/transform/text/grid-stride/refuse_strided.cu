// It strides already.
__global__ void k(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i];
}

void run(const float* x, float* y, int n) {
  k<<<64, 256>>>(x, y, n);
}
