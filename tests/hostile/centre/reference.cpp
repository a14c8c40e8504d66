// y = x less the mean of its row.
extern "C" void centre(const float* x, float* y, int rows, int cols) {
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int col = 0; col < cols; ++col) sum += x[row * cols + col];
    for (int col = 0; col < cols; ++col) y[row * cols + col] = static_cast<float>(x[row * cols + col] - sum / cols);
  }
}
