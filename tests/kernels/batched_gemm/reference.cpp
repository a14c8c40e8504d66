extern "C" void batched_gemm(const float* a, const float* b, float* c, int batch, int m, int k, int n) {
  for (int z = 0; z < batch; ++z)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double s = 0;
        for (int l = 0; l < k; ++l) s += double(a[(z * m + i) * k + l]) * b[(z * k + l) * n + j];
        c[(z * m + i) * n + j] = float(s);
      }
}
