// Each thread copies its own chunk; the ends have names.
__global__ void k(const float* x, float* y, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int per = (n + gridDim.x * blockDim.x - 1) / (gridDim.x * blockDim.x);  // elements of a thread
  int from = t * per, to = min(from + per, n);
  for (int i = from; i < to; i++) {
    y[i] = 2 * x[i];  // twice
  }
}

void run(const float* x, float* y, int n) {
  k<<<64, 256>>>(x, y, n);
}
