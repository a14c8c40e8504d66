// Every thread has summed already.
__global__ void k(const float* x, float* total, int n) {
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  atomicAdd(total, v);
}

void run(const float* x, float* total, int n) {
  k<<<64, 256>>>(x, total, n);
}
