// The guard holds the work, and lanes lie along the rows: columns take their place.
__global__ void product(const double* a, const double* b, double* c, int m, int k, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < m && j < n) {
    double s = 0;
    for (int l = 0; l < k; l++) s = fma(b[l * n + j], a[i * k + l], s);
    c[i * n + j] = s;
  }
}

void run(const double* a, const double* b, double* c, int m, int k, int n) {
  product<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, m, k, n);
}
