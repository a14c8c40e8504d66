extern "C" void strided_out(const float* x, float* y, float* z, int rows, int cols) {
  const int pitch = (cols + 7) / 8 * 8;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) {
      y[(long long)r * pitch + c] = 2 * x[(long long)r * cols + c];
      z[(long long)c * rows + r] = -x[(long long)r * cols + c];
    }
}
