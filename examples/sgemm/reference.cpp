#include <vector>

// The launcher's integers come in the order in which they first appear in the shapes: m, k, n.
extern "C" void sgemm(const float* a, const float* b, float* c, int m, int k, int n) {
  std::vector<double> row(n);
  for (int i = 0; i < m; ++i) {
    row.assign(n, 0.0);
    for (int p = 0; p < k; ++p) {
      const double value = a[static_cast<long long>(i) * k + p];
      const float* b_row = b + static_cast<long long>(p) * n;
      for (int j = 0; j < n; ++j) row[j] += value * b_row[j];
    }
    for (int j = 0; j < n; ++j) c[static_cast<long long>(i) * n + j] = float(row[j]);
  }
}
