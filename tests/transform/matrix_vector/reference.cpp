extern "C" void matrix_vector(const float* a, const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < cols; ++c) sum += double(a[(long long)r * cols + c]) * x[c];
    y[r] = float(sum);
  }
}
