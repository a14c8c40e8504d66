#include <cmath>
extern "C" void rms_norm(const float* x, const float* g, float* y, int rows, int cols, float eps) {
  for (int r = 0; r < rows; ++r) {
    double s = 0;
    for (int c = 0; c < cols; ++c) s += double(x[(long long)r * cols + c]) * x[(long long)r * cols + c];
    const double scale = 1 / std::sqrt(s / cols + eps);
    for (int c = 0; c < cols; ++c) y[(long long)r * cols + c] = float(x[(long long)r * cols + c] * scale * g[c]);
  }
}
