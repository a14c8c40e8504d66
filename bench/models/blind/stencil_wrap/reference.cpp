extern "C" void stencil_wrap(const float* u, const float* k, float* next, int h, int w) {
  const long long pitch = w + 3;
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      const double here = u[y * pitch + x];
      const double around = double(u[(y + h - 1) % h * pitch + x]) + u[(y + 1) % h * pitch + x] + u[y * pitch + (x + w - 1) % w] + u[y * pitch + (x + 1) % w];
      next[static_cast<long long>(y) * w + x] = static_cast<float>(here + k[static_cast<long long>(y) * w + x] * (around - 4 * here));
    }
}
