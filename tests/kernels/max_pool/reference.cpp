extern "C" void max_pool(const float* x, float* y, int* at, int planes, int height, int width) {
  const int h = (height + 1) / 2, w = (width + 1) / 2;
  for (int p = 0; p < planes; ++p)
    for (int r = 0; r < h; ++r)
      for (int c = 0; c < w; ++c) {
        int best = -1;
        const float* plane = x + (long long)p * height * width;
        for (int i = 2 * r - 1; i <= 2 * r + 1; ++i)
          for (int j = 2 * c - 1; j <= 2 * c + 1; ++j)
            if (i >= 0 && i < height && j >= 0 && j < width && (best < 0 || plane[i * width + j] > plane[best])) best = i * width + j;
        y[((long long)p * h + r) * w + c] = plane[best];
        at[((long long)p * h + r) * w + c] = best;
      }
}
