extern "C" void dot(const double* x, const double* y, double* out, int n) {
  long double s = 0;
  for (int i = 0; i < n; ++i) s += (long double)x[i] * y[i];
  *out = double(s);
}
