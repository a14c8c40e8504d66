extern "C" void complex_mac(const float* x, const float* w, float* acc, int batch, int channels, int freqs) {
  for (int f = 0; f < freqs; ++f)
    for (int c = 0; c < channels; ++c) {
      double re = 0, im = 0;
      for (int b = 0; b < batch; ++b) {
        const float* p = x + ((static_cast<long long>(b) * channels + c) * freqs + f) * 2;
        const float* q = w + (static_cast<long long>(b) * freqs + f) * 2;
        re += double(p[0]) * q[0] + double(p[1]) * q[1];
        im += double(p[1]) * q[0] - double(p[0]) * q[1];
      }
      acc[(static_cast<long long>(f) * channels + c) * 2] = static_cast<float>(re);
      acc[(static_cast<long long>(f) * channels + c) * 2 + 1] = static_cast<float>(im);
    }
}
