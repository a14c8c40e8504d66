#include <cmath>

extern "C" void gelu(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = float(x[i] / (1.0 + std::exp(-1.702 * x[i])));
}
