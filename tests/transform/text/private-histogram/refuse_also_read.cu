// The counts are read on the way.
__global__ void k(const int* x, unsigned* bins, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && bins[0] < 9) atomicAdd(&bins[x[i] & 255], 1);
}

void run(const int* x, unsigned* bins, int n) {
  k<<<(n + 255) / 256, 256>>>(x, bins, n);
}
