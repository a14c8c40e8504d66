// pattern: scan
// tensor: x f32 in rows,cols
// tensor: y f32 out rows,cols
// sizes: rows=1024 cols=8192
extern "C" void row_cumsum(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    y[(long long)r * cols] = x[(long long)r * cols];
    for (int c = 1; c < cols; ++c) {
      long long at = (long long)r * cols + c;
      y[at] = y[at - 1] + x[at];
    }
  }
}
