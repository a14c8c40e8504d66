// pattern: reduction
struct Total {
  double value = 0;
};

extern "C" void row_total(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    Total total;
    for (int c = 0; c < cols; ++c) total.value += x[(long long)r * cols + c];
    y[r] = float(total.value);
  }
}
