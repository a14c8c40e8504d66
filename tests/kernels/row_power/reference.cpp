extern "C" void row_power(const float* x, float* y, int rows) {
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < 1024; ++c) sum += (double)x[r * 1024LL + c] * x[r * 1024LL + c];
    y[r] = (float)sum;
  }
}
