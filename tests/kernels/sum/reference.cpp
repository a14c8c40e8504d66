extern "C" void sum(const float* x, float* total, int n) {
  double s = 0;
  for (int i = 0; i < n; ++i) s += x[i];
  *total = float(s);
}
