#include <cmath>
extern "C" void columns(const float* x, float* mean, float* low, float* high, int rows, int cols) {
  for (int c = 0; c < cols; ++c) {
    double sum = 0, a = x[c], b = x[c];
    for (int r = 0; r < rows; ++r) { const double v = x[(long long)r * cols + c]; sum += v; a = std::fmin(a, v); b = std::fmax(b, v); }
    mean[c] = (float)(sum / rows);
    low[c] = (float)a;
    high[c] = (float)b;
  }
}
