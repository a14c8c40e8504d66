extern "C" void powers(const double* x, double* y, int n) {
  for (int i = 0; i < n; ++i) {
    double v = x[i];
    for (int k = 0; k < 4; ++k) v *= v;
    y[i] = v;
  }
}
