extern "C" void strided_scale(const float* x, float* y, int rows, int cols, float s, int shift, bool negative) {
  const int pitch = (cols + 7) / 8 * 8;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) y[(long long)r * cols + c] = float((negative ? -1.0 : 1.0) * s * x[(long long)r * pitch + c] + shift);
}
