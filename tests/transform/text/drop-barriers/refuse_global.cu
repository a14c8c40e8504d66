// Threads meet in global memory.
__global__ void k(const float* x, float* y, int n) {
  y[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x + 256] = y[255 - threadIdx.x];
}

void run(const float* x, float* y, int n) {
  k<<<(n + 255) / 256, 256>>>(x, y, n);
}
