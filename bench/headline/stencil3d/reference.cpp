extern "C" void stencil3d(const float* x, float* y, int depth, int height, int width, float c) {
  for (int k = 0; k < depth; ++k)
    for (int j = 0; j < height; ++j)
      for (int i = 0; i < width; ++i) {
        const long long p = (static_cast<long long>(k) * height + j) * width + i, row = width, plane = static_cast<long long>(width) * height;
        if (k == 0 || j == 0 || i == 0 || k == depth - 1 || j == height - 1 || i == width - 1) {
          y[p] = x[p];
        } else {
          const double around = double(x[p - 1]) + x[p + 1] + x[p - row] + x[p + row] + x[p - plane] + x[p + plane];
          y[p] = static_cast<float>(x[p] + c * (around - 6.0 * x[p]));
        }
      }
}
