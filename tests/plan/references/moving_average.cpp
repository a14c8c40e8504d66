// pattern: stencil
// tensor: signal f32 in n
// tensor: smooth f32 out n
// sizes: n=10000000
extern "C" void moving_average(const float* signal, float* smooth, int n) {
  constexpr int kRadius = 3;
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    int taps = 0;
    for (int k = -kRadius; k <= kRadius; ++k) {
      const int at = i + k;
      if (at < 0 || at >= n) continue;
      sum += signal[at];
      ++taps;
    }
    smooth[i] = static_cast<float>(sum / taps);
  }
}
