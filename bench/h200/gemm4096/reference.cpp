// C = A * B, row-major.
extern "C" void gemm(const float* a, const float* b, float* c, int m, int k, int n) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += static_cast<double>(a[static_cast<long>(i) * k + l]) * b[static_cast<long>(l) * n + j];
      c[static_cast<long>(i) * n + j] = static_cast<float>(sum);
    }
}
