extern "C" void thinned(const double* x, const double* bias, double* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c) {
      double sum = 0;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const int i = 3 * r + dy, j = 4 * c + dx;
          if (i >= 0 && j >= 0) sum += x[(long long)i * (4 * cols) + j];
        }
      y[(long long)r * cols + c] = bias[(long long)r * cols + c] + sum / 9;
    }
  }
}
