extern "C" void two_pass(const double* x, double* y, int n) {
  double s = 0;
  for (int i = 0; i < n; ++i) s += x[i];
  for (int i = 0; i < n; ++i) y[i] = x[i] - s / n;
}
