// pattern: gemm
// tensor: a f32 in m,k
// tensor: b f32 in n,k
// tensor: c f32 out m,n
// sizes: m=1024 n=1024 k=1024
// The right operand lies transposed.
extern "C" void matmul_nt(const float* a, const float* b, float* c, int m, int k, int n) {
  auto A = [&](int i, int p) { return (double)a[(long long)i * k + p]; };
  auto B = [&](int p, int j) { return (double)b[(long long)j * k + p]; };
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      double dot = 0;
      for (int p = 0; p < k; ++p) dot += A(i, p) * B(p, j);
      c[(long long)i * n + j] = (float)dot;
    }
}
