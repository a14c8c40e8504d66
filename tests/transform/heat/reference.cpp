extern "C" void heat(const float* u, float* v, int height, int width) {
  for (int i = 0; i < height; ++i) {
    for (int j = 0; j < width; ++j) {
      const long long at = (long long)i * width + j;
      const bool border = i == 0 || j == 0 || i == height - 1 || j == width - 1;
      v[at] = border ? u[at] : float(u[at] + 0.2 * (double(u[at - 1]) + u[at + 1] + u[at - width] + u[at + width] - 4.0 * u[at]));
    }
  }
}
