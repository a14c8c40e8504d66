extern "C" void saxpy(const float* x, float* y, int n, float a) {
  for (int i = 0; i < n; ++i) y[i] = float(double(a) * x[i] + y[i]);
}
