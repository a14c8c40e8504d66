extern "C" void count_above(const float* x, int* y, int n) {
  int count = 0;
  for (int i = 0; i < n; ++i) count += x[i] > 0.5f ? 1 : 0;
  y[0] = count;
}
