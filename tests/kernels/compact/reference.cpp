extern "C" void compact(const int* x, int* y, int* count, int n) {
  int kept = 0;
  for (int i = 0; i < n; ++i)
    if (x[i] > 0) y[kept++] = x[i];
  *count = kept;
  for (int i = kept; i < n; ++i) y[i] = 0;
}
