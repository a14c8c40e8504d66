#include <cmath>
extern "C" void group_norm(const float* x, const float* gain, const float* shift, float* y, float* mean, float* inverse, int images, int groups, int channels, int pixels, float epsilon) {
  const long long n = (long long)channels * pixels;
  for (long long g = 0; g < (long long)images * groups; ++g) {
    double sum = 0, squares = 0;
    for (long long i = 0; i < n; ++i) sum += x[g * n + i];
    const double m = sum / n;
    for (long long i = 0; i < n; ++i) squares += (x[g * n + i] - m) * (x[g * n + i] - m);
    const double r = 1 / std::sqrt(squares / n + epsilon);
    for (long long i = 0; i < n; ++i) {
      const long long c = g % groups * channels + i / pixels;
      y[g * n + i] = (float)((x[g * n + i] - m) * r * gain[c] + shift[c]);
    }
    mean[g] = (float)m;
    inverse[g] = (float)r;
  }
}
