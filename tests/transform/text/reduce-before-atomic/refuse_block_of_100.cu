// Not whole warps.
__global__ void k(const float* x, float* total, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, x[i]);
}

void run(const float* x, float* total, int n) {
  k<<<(n + 99) / 100, 100>>>(x, total, n);
}
