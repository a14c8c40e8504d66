extern "C" void half_gemm(const float* a, const float* b, float* c, int m, int k, int n) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += (double)a[(long long)i * k + l] * b[(long long)l * n + j];
      c[(long long)i * n + j] = (float)sum;
    }
}
