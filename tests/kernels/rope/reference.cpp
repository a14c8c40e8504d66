extern "C" void rope(float* x, const int* place, const float* cosine, const float* sine, int tokens, int heads, int half, int places) {
  (void)places;
  for (int t = 0; t < tokens; ++t)
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < half; ++i) {
        float* p = x + ((long long)t * heads + h) * 2 * half;
        const double c = cosine[(long long)place[t] * half + i], s = sine[(long long)place[t] * half + i], a = p[i], b = p[half + i];
        p[i] = (float)(a * c - b * s);
        p[half + i] = (float)(b * c + a * s);
      }
}
