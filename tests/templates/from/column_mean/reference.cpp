extern "C" void column_mean(const float* x, float* y, int rows, int cols) {
  for (int c = 0; c < cols; ++c) {
    double sum = 0;
    for (int r = 0; r < rows; ++r) sum += x[(long long)r * cols + c];
    y[c] = float(sum / rows);
  }
}
