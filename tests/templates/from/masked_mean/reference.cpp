extern "C" void masked_mean(const float* x, const int* mask, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    int count = 0;
    for (int c = 0; c < cols; ++c) {
      if (mask[c] != 0) {
        sum += x[(long long)r * cols + c];
        ++count;
      }
    }
    y[r] = count > 0 ? float(sum / count) : 0.0f;
  }
}
