extern "C" void stencil3d(const double* x, double* y, int d, int h, int w, double c) {
  for (int k = 0; k < d; ++k)
    for (int j = 0; j < h; ++j)
      for (int i = 0; i < w; ++i) {
        const long long p = ((long long)k * h + j) * w + i, sj = w, sk = (long long)w * h;
        if (k == 0 || j == 0 || i == 0 || k == d - 1 || j == h - 1 || i == w - 1) y[p] = x[p];
        else y[p] = x[p] + c * (x[p - 1] + x[p + 1] + x[p - sj] + x[p + sj] + x[p - sk] + x[p + sk] - 6 * x[p]);
      }
}
