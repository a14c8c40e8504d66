extern "C" void band_solve(const float* first, const float* second, const float* b, float* x, int rows, int n) {
  for (int row = 0; row < rows; ++row) {
    double last = 0, before = 0;
    for (int i = 0; i < n; ++i) {
      const long long at = static_cast<long long>(row) * n + i;
      const double now = b[at] - first[at] * last - second[at] * before;
      x[at] = static_cast<float>(now);
      before = last;
      last = now;
    }
  }
}
