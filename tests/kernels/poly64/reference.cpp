extern "C" void poly64(const float* x, float* y, int n) {
  for (int g = 0; g < n; ++g)
    for (int k = 0; k < 64; ++k) {
      double s = 0;
      for (int j = 0; j < 64; ++j) s += double(x[g + (long long)n * j]) * x[g + (long long)n * ((j + k) % 64)];
      y[g + (long long)n * k] = float(s);
    }
}
