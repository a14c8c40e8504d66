// pattern: reduction
// tensor: in f64 in n,m
// tensor: out f64 out n
// sizes: n=8192 m=2048
extern "C" void row_sum(const double* in, double* out, int n, int m) {
  for (int i = 0; i < n; ++i) {
    double acc = 0.0;
    for (int j = 0; j < m; ++j) acc += in[(long long)i * m + j];
    out[i] = acc;
  }
}
