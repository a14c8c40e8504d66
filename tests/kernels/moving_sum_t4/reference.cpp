extern "C" void moving_sum(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) {
      const float* p = x + (long long)r * (cols + 4) + c;
      y[(long long)r * cols + c] = float(double(p[0]) + p[1] + p[2] + p[3]);
    }
}
