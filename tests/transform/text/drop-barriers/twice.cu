// Of two barriers the second one goes, and so does that at the end.
__global__ void k(const float* x, float* y, int n) {
  __shared__ float s[256];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  int t = 255 - threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[t];
  __syncthreads();
}

void run(const float* x, float* y, int n) {
  k<<<(n + 255) / 256, 256>>>(x, y, n);
}
