extern "C" void pool(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) {
      double sum = 0;
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) sum += x[(long long)(2 * r + i) * (2 * cols) + 2 * c + j];
      y[(long long)r * cols + c] = float(sum / 4);
    }
}
