// The sum starts from a value.
__global__ void product(const float* a, const float* b, float* c, int m, int k, int n) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = c[row * n + col];
  for (int p = 0; p < k; ++p) sum += a[row * k + p] * b[p * n + col];
  c[row * n + col] = sum;
}

void run(const float* a, const float* b, float* c, int m, int k, int n) {
  product<<<dim3((n + 31) / 32, (m + 7) / 8), dim3(32, 8)>>>(a, b, c, m, k, n);
}
