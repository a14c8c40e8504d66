// pattern: layer_norm
// tensor: x f16 in tokens,hidden
// tensor: gamma f16 in hidden
// tensor: beta f16 in hidden
// tensor: y f16 out tokens,hidden
// sizes: tokens=8192 hidden=4096
#include <cmath>

extern "C" void layer_norm_affine(const float* x, const float* gamma, const float* beta, float* y, int tokens, int hidden) {
  const double eps = 1e-5;
  for (long long t = 0; t < tokens; ++t) {
    double mean = 0, var = 0;
    for (int h = 0; h < hidden; ++h) mean += x[t * hidden + h];
    mean /= hidden;
    for (int h = 0; h < hidden; ++h) {
      double d = x[t * hidden + h] - mean;
      var += d * d;
    }
    var /= hidden;
    double inv = 1.0 / std::sqrt(var + eps);
    for (int h = 0; h < hidden; ++h) y[t * hidden + h] = (float)((x[t * hidden + h] - mean) * inv * gamma[h] + beta[h]);
  }
}
