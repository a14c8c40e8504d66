// Whether all chunks together cover n is not said here.
__global__ void k(const float* x, float* y, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int per = 64;
  float s = 0;
  for (int i = t * per; i < min(t * per + per, n); ++i) s += x[i];
  y[t] = s;
}

void run(const float* x, float* y, int n) {
  k<<<64, 256>>>(x, y, n);
}
