extern "C" void cube_rotated(const float* x, float* y, int depth, int rows, int cols) {
  for (int d = 0; d < depth; ++d)
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < cols; ++c) y[((long long)c * depth + d) * rows + r] = x[((long long)d * rows + r) * cols + c];
}
