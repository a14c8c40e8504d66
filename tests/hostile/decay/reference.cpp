// 256 steps of z = z / 2 + x for every element.
extern "C" void decay(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) {
    double z = 0;
    for (int step = 0; step < 256; ++step) z = 0.5 * z + x[i];
    y[i] = static_cast<float>(z);
  }
}
