extern "C" void fir(const float* x, const float* tap, float* y, int n, int taps) {
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    for (int t = 0; t < taps && t <= i; ++t) sum += (double)tap[t] * x[i - t];
    y[i] = (float)sum;
  }
}
