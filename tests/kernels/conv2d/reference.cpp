extern "C" void conv2d(const float* x, const float* f, float* y, int c, int h, int w) {
  for (int z = 0; z < c; ++z)
    for (int i = 0; i < h; ++i)
      for (int j = 0; j < w; ++j) {
        double s = 0;
        for (int u = -1; u <= 1; ++u)
          for (int v = -1; v <= 1; ++v)
            if (i + u >= 0 && i + u < h && j + v >= 0 && j + v < w) s += double(f[(u + 1) * 3 + v + 1]) * x[(z * h + i + u) * w + j + v];
        y[(z * h + i) * w + j] = float(s);
      }
}
