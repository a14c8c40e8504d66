extern "C" void gemv(const float* a, const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    double s = 0;
    for (int c = 0; c < cols; ++c) s += double(a[(long long)r * cols + c]) * x[c];
    y[r] = float(s);
  }
}
