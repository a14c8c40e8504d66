#include <cmath>
extern "C" void fft256(const float* x, float* y, int rows) {
  const double turn = 8 * std::atan(1.0) / 256;
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < 256; ++k) {
      double re = 0, im = 0;
      for (int i = 0; i < 256; ++i) {
        const double c = std::cos(turn * (k * i % 256)), s = -std::sin(turn * (k * i % 256)), a = x[(r * 256LL + i) * 2], b = x[(r * 256LL + i) * 2 + 1];
        re += a * c - b * s;
        im += a * s + b * c;
      }
      y[(r * 256LL + k) * 2] = (float)re;
      y[(r * 256LL + k) * 2 + 1] = (float)im;
    }
}
